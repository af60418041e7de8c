/**
 * Money that arrives through a pooler, from callers that try again whenever the outcome is unknown, as clients do, and
 * a check of the ledger from outside.
 */
import { createAccount } from '../../src/accounts/accounts.ts';
import { topUp } from '../../src/billing/ledger.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { DatabaseUnavailableError, UniqueViolationError } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { newId } from '../../src/domain/ids.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { letPass } from '../support/let-pass.ts';

const ACCOUNTS = 10;
const MICRO_USD = 7n;
const RETRY_MS = 100;
const LIMITS = {
  runningCap: 1,
  queueCap: 1,
  createsPerMinute: 1,
  readsPerMinute: 1,
  textRequestsPerMinute: 1,
  textTokensPerMinute: 1,
  textStreamsCap: 1,
};

interface Deposit {
  readonly accountId: string;
  readonly reference: string;
  /** By itself, or in a transaction. */
  readonly isAlone: boolean;
  readonly database: Database;
}

/** Callers that deposit one after the other until they are stopped. */
export interface Load {
  /** What was thrown that callers do not expect. */
  readonly otherErrors: readonly unknown[];
  /** Waits for that many more. */
  waitForSuccesses(count: number): Promise<void>;
  waitForFailures(count: number): Promise<void>;
  /** Lets each caller finish its deposit. */
  stop(): Promise<void>;
}

export class Deposits {
  readonly #direct: Database;
  readonly #databases: readonly Database[];
  readonly #accounts: readonly string[];
  readonly #made: Deposit[] = [];
  #count = 0;

  private constructor(direct: Database, databases: readonly Database[], accounts: readonly string[]) {
    this.#direct = direct;
    this.#databases = databases;
    this.#accounts = accounts;
  }

  /** @param direct reaches PostgreSQL past the pooler. */
  static async open(direct: Database, databases: readonly Database[]): Promise<Deposits> {
    const accounts: string[] = [];
    for (let index = 0; index < ACCOUNTS; index++) accounts.push(await createAccount(direct, 'deposits', LIMITS));
    return new Deposits(direct, databases, accounts);
  }

  /** One deposit, tried once. @returns what failed. */
  async make(): Promise<unknown> {
    return this.#try(this.#next());
  }

  load(callers: number): Load {
    let [successes, failures, isOver] = [0, 0, false];
    const otherErrors: unknown[] = [];
    const call = async (): Promise<void> => {
      while (!isOver) {
        const deposit = this.#next();
        for (let error = await this.#try(deposit); error !== undefined; error = await this.#try(deposit)) {
          failures += 1;
          if (!(error instanceof DatabaseUnavailableError)) {
            otherErrors.push(error);
            return;
          }
          await letPass(RETRY_MS);
        }
        successes += 1;
      }
    };
    const running = Array.from({ length: callers }, call);
    const waitForMore = async (what: string, count: number, read: () => number): Promise<void> => {
      const before = read();
      await waitFor(what, () => read() >= before + count || otherErrors.length > 0);
    };
    return {
      otherErrors,
      waitForSuccesses: (count) => waitForMore('deposits', count, () => successes),
      waitForFailures: (count) => waitForMore('failed deposits', count, () => failures),
      async stop() {
        isOver = true;
        await Promise.all(running);
      },
    };
  }

  /** What is wrong with the ledger: deposits that were confirmed and are not there, and sums that do not fit. */
  async problems(): Promise<readonly string[]> {
    const entries = await this.#direct.query<{ reference: string }>(
      { name: 'test_deposits', text: 'SELECT reference FROM ledger_entries WHERE account_id = ANY ($1)' },
      [this.#accounts],
    );
    const found = new Set(entries.map(({ reference }) => reference));
    const lost = this.#made
      .filter(({ reference }) => !found.has(reference))
      .map(({ reference }) => `${reference} is lost`);
    const [sum] = await this.#direct.query<{ total: bigint }>(
      {
        name: 'test_balances',
        text: 'SELECT sum(available_micro_usd)::bigint AS total FROM account_counters WHERE account_id = ANY ($1)',
      },
      [this.#accounts],
    );
    const expected = BigInt(this.#made.length) * MICRO_USD;
    const violations = await verifyLedger(this.#direct);
    return [
      ...lost,
      ...(sum?.total === expected ? [] : [`the balances are ${sum?.total} instead of ${expected}`]),
      ...violations.map((violation) => JSON.stringify(violation)),
    ];
  }

  #next(): Deposit {
    const at = this.#count++;
    const of = <Item>(items: readonly Item[]): Item => {
      const item = items[at % items.length];
      if (item === undefined) throw new Error('there are none');
      return item;
    };
    return {
      accountId: of(this.#accounts),
      reference: newId('topup'),
      // Each process does both.
      isAlone: Math.floor(at / this.#databases.length) % 2 === 0,
      database: of(this.#databases),
    };
  }

  async #try(deposit: Deposit): Promise<unknown> {
    const { database, accountId, reference, isAlone } = deposit;
    try {
      if (isAlone) await topUp(database, accountId, MICRO_USD, reference);
      else await database.transaction((transaction) => topUp(transaction, accountId, MICRO_USD, reference));
    } catch (error) {
      // An attempt before this one had taken effect, and its answer was lost.
      if (!(error instanceof UniqueViolationError)) return error;
    }
    this.#made.push(deposit);
    return undefined;
  }
}

/**
 * The ledger of text calls in an API process: a hold before each call, one settlement after it. Holds and settlements
 * of one account go together (database/batches.ts). An answer waits for its hold and never for its settlement;
 * settlements never fall behind: each goes with the next hold of its account, before it, so that there is never more to
 * settle than an account may have in progress.
 */
import { LRUCache } from 'lru-cache';
import { createBatches } from '../../database/batches.ts';
import { DatabaseUnavailableError } from '../../database/database.ts';
import type { Database, Statement } from '../../database/database.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import type { Logger } from '../../telemetry/log.ts';
import { NoLeaseError, holdOneByOne } from './hold-one-by-one.ts';
import { estimatedSettlement, moveTextMoney } from './move.ts';
import type { ExceededHold, NewTextCall, TextSettlement } from './move.ts';
import { plausibleUsage } from './price.ts';

/** The maximum number of calls in one statement. A larger batch saves nothing and only takes longer. */
const MAX_TOGETHER = 100;
/**
 * How long a settlement waits for a hold that can share its transaction, in milliseconds; in a busy account it never
 * waits.
 */
const SETTLE_WITHIN_MS = 50;
/** The longest delay of a retry after a failure of the database, in milliseconds. */
const RETRY_WITHIN_MS = 1_000;
/** A larger amount is processed by itself: sums of many must not exceed the database's integers. */
const MAX_TOGETHER_MICRO_USD = 10n ** 15n;
/** The largest amount that is processed: more than an account can have. */
const MAX_MICRO_USD = 10n ** 18n;
/** The number of calls whose outcome is remembered: more than are settled in the time whose commits can be lost. */
const MAX_REMEMBERED = 20_000;
/** The age in milliseconds below which a settlement may not have been committed yet. */
const ON_ITS_WAY_MS = 5_000;

export interface TextLedger {
  /** The process whose lease its holds have. */
  readonly processId: string;
  /**
   * Holds the worst case of a call.
   *
   * @throws {InsufficientBalanceError} @throws {SpendCapError} @throws {TooManyStreamsError} nothing is held.
   * @throws {DatabaseUnavailableError} nothing stays held.
   */
  hold(call: NewTextCall): Promise<void>;
  /**
   * Settles a call that is held: captures the amount due, releases the rest. Once only: a call that was settled
   * before, even by another process, does not change. Never fails; if the database is unavailable, it is retried until
   * it succeeds.
   */
  settle(settlement: TextSettlement): void;
  /**
   * Settles again the calls that are open in the database and not in this process: the database has lost the commit.
   *
   * @returns how many calls. @throws {DatabaseUnavailableError}
   */
  settleReopened(): Promise<number>;
  /** Waits until everything settled by now is in the ledger, or could not be written. */
  flush(): Promise<void>;
  /**
   * Writes the pending settlements, once; what fails is left to the process that finds this process's lease expired.
   */
  close(): Promise<void>;
}

export interface TextLedgerDependencies {
  readonly database: Database;
  /** Where money is moved; absent: in the same database, without a bound by account. */
  readonly accountDatabase?: AccountDatabase;
  /** The id under which this process has its lease (process-lease.ts). */
  readonly processId: string;
  /** Takes the lease again if it has expired. */
  readonly renewLease: () => Promise<void>;
  readonly logger: Logger;
  /** Called once for each exceeded hold, when the difference is in the ledger. */
  readonly onExceeded?: (hold: ExceededHold) => void;
  /** Returns the current time in milliseconds; for tests. */
  readonly now?: () => number;
}

interface Hold {
  readonly call: NewTextCall;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
type Item = Hold | TextSettlement;

const isHold = (item: Item): item is Hold => 'call' in item;

export function createTextLedger(dependencies: TextLedgerDependencies): TextLedger {
  const { database, accountDatabase = () => database, processId } = dependencies;
  const { renewLease, logger, onExceeded, now } = dependencies;
  let isClosing = false;
  const own = createOwnCalls(database, processId, now);

  const settle = (settlement: TextSettlement, withinMs: number): void => {
    own.ended(settlement);
    batches.addLater(settlement.accountId, settlement, withinMs);
  };

  /** Settles, and answers the holds. Throws if something could not be done: it has removed what it answered. */
  const work = async (accountId: string, settlements: Map<string, TextSettlement>, holds: Set<Hold>): Promise<void> => {
    const ofAccount = accountDatabase(accountId);
    const together = [...holds].filter(({ call }) => canGoTogether(call));
    if (settlements.size > 0 || together.length > 0) {
      const calls = together.map(({ call }) => call);
      const moved = await moveTextMoney(ofAccount, accountId, processId, [...settlements.values()], calls);
      settlements.clear();
      for (const hold of moved.exceeded) onExceeded?.(hold);
      if (moved.fits) for (const hold of together) answer(holds, hold);
      if (!moved.isLeased && holds.size > 0) await renewLease();
    }
    if (holds.size === 0) return;
    const left = [...holds];
    const calls = left.map(({ call }) => call);
    const rejections = await holdOneByOne(ofAccount, accountId, processId, calls).catch(async (error: unknown) => {
      if (!(error instanceof NoLeaseError)) throw error;
      await renewLease();
      return holdOneByOne(ofAccount, accountId, processId, calls);
    });
    for (const [index, hold] of left.entries()) answer(holds, hold, rejections[index]);
  };

  /** Never throws. */
  const workOff = async (accountId: string, items: readonly Item[]): Promise<void> => {
    const holds = new Set(items.filter(isHold));
    // The first settlement counts, as it does in the database.
    const settlements = new Map<string, TextSettlement>();
    for (const item of items) if (!isHold(item) && !settlements.has(item.id)) settlements.set(item.id, item);
    try {
      await work(accountId, settlements, holds);
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) {
        tryLater(accountId, settlements, holds, error);
        return;
      }
      const left: readonly Item[] = [...settlements.values(), ...holds];
      if (left.length > 1) {
        for (const item of left) await workOff(accountId, [item]);
        return;
      }
      for (const hold of holds) hold.reject(error);
      for (const id of settlements.keys()) logger.error({ err: error, call: id, accountId }, 'text call not settled');
    }
  };

  /**
   * Whether a hold that was sent took effect is unknown: it is undone, and if it arrives later, it has no effect. That
   * of a call in the background is found by its next attempt.
   */
  const tryLater = (
    accountId: string,
    settlements: ReadonlyMap<string, TextSettlement>,
    holds: ReadonlySet<Hold>,
    error: DatabaseUnavailableError,
  ): void => {
    const undone = [...holds].flatMap(({ call }) =>
      call.isBackground === true ? [] : [estimatedSettlement(call, 0n)],
    );
    const all = [...settlements.values(), ...undone];
    if (isClosing) {
      logger.warn({ err: error, accountId, calls: all.length }, 'text calls not settled; another process will');
    } else {
      for (const settlement of all) settle(settlement, RETRY_WITHIN_MS);
    }
    for (const hold of holds) hold.reject(error);
  };

  const batches = createBatches<Item>({
    work: workOff,
    fitting: (items) => Math.min(items.length, MAX_TOGETHER),
  });

  return {
    processId,
    hold: (call) =>
      new Promise((resolve, reject) => {
        if (call.isBackground !== true) own.begun(call.id);
        const rejectHold = (error: unknown): void => {
          own.rejected(call.id);
          reject(error);
        };
        batches.add(call.accountId, { call, resolve, reject: rejectHold });
      }),
    settle(settlement) {
      settle(plausible(settlement), SETTLE_WITHIN_MS);
    },
    async settleReopened() {
      const reopened = await own.findReopened();
      for (const settlement of reopened) settle(settlement, SETTLE_WITHIN_MS);
      return reopened.length;
    },
    flush: () => batches.flush(),
    async close() {
      isClosing = true;
      await batches.flush();
    },
  };
}

/** A hold for a key with spend caps also locks the rows of its caps. */
function canGoTogether({ spendCapIds, heldMicroUsd }: NewTextCall): boolean {
  return spendCapIds.length === 0 && heldMicroUsd <= MAX_TOGETHER_MICRO_USD;
}

function answer(holds: Set<Hold>, hold: Hold, rejection?: Error): void {
  holds.delete(hold);
  if (rejection === undefined) hold.resolve();
  else hold.reject(rejection);
}

/** What the database can store; what is captured is limited by what was held. */
function plausible(settlement: TextSettlement): TextSettlement {
  const { capturedMicroUsd, usage } = settlement;
  return {
    ...settlement,
    capturedMicroUsd: within(0n, capturedMicroUsd, MAX_MICRO_USD),
    usage: { ...plausibleUsage(usage), isEstimated: usage.isEstimated },
  };
}

function within(least: bigint, amount: bigint, most: bigint): bigint {
  if (amount < least) return least;
  return amount > most ? most : amount;
}

/** Calls in the background belong to no process. */
const selectOpen: Statement = {
  name: 'select_open_text_calls_of_process',
  text: `SELECT id, account_id AS "accountId", floor_micro_usd AS "floorMicroUsd", input_tokens AS "inputTokens"
           FROM text_calls c
          WHERE process_id = $1 AND settled_at IS NULL
            AND NOT EXISTS (SELECT FROM background_calls b WHERE b.id = c.id)`,
};

type OpenCall = Pick<NewTextCall, 'id' | 'accountId' | 'floorMicroUsd' | 'inputTokens'>;

/**
 * What an API process remembers of its own text calls, in addition to the database. A database that loses its last
 * commits (docs/decisions/0005) loses settlements too: such a call is open again, while its process is still running
 * and considers it settled.
 */
interface OwnCalls {
  /** A hold is about to be requested. The call is in progress from now on until it has ended. */
  begun(id: string): void;
  /** The hold was rejected, so the call does not run. */
  rejected(id: string): void;
  ended(settlement: TextSettlement): void;
  /**
   * @returns how to settle those that are open in the database, and over in this process.
   * @throws {DatabaseUnavailableError}
   */
  findReopened(): Promise<readonly TextSettlement[]>;
}

/** @param now in milliseconds, for tests. */
function createOwnCalls(database: Database, processId: string, now = () => performance.now()): OwnCalls {
  const underWay = new Set<string>();
  const settlements = new LRUCache<string, { readonly settlement: TextSettlement; readonly at: number }>({
    max: MAX_REMEMBERED,
  });

  return {
    begun: (id) => void underWay.add(id),
    rejected: (id) => void underWay.delete(id),
    ended(settlement) {
      underWay.delete(settlement.id);
      // The first settlement counts, as it does in the database.
      const first = settlements.get(settlement.id)?.settlement ?? settlement;
      settlements.set(settlement.id, { settlement: first, at: now() });
    },
    async findReopened() {
      const open = await database.query<OpenCall>(selectOpen, [processId]);
      return open.flatMap((call) => {
        const known = settlements.get(call.id);
        if (underWay.has(call.id) || (known !== undefined && now() - known.at < ON_ITS_WAY_MS)) return [];
        return [known?.settlement ?? estimatedSettlement(call, call.floorMicroUsd)];
      });
    },
  };
}

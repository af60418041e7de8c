/** How many transactions of one account a process has under way, and who gets a connection next to them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LockTimeoutError } from '../../src/database/database.ts';
import type { Database, Statement } from '../../src/database/database.ts';
import { AccountBusyError, createAccountDatabase, createStalledRows } from '../../src/limits/row-databases.ts';

const POOL_SIZE = 10;
/** The connections for accounts together, and so for one of them. */
const FOR_ACCOUNTS = 6;
const FOR_ONE = FOR_ACCOUNTS / 2;
const WAITING = { perTenant: 3, perProcess: 100, waitMs: 60_000 };
const STATEMENT = { name: 'test', text: 'SELECT 1' };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Statements and transactions that end when the test ends them. */
function heldDatabase() {
  const held: (() => void)[] = [];
  const hold = () => new Promise<never[]>((resolve) => held.push(() => resolve([])));
  const database = { query: hold, transaction: hold } as unknown as Database;
  const endAll = async (): Promise<void> => {
    while (held.length > 0) {
      held.shift()?.();
      await turn();
    }
  };
  return { database, held, endAll };
}

/** Statements that wait for a locked row until the test releases it. */
function lockedDatabase() {
  const waiting: string[] = [];
  const ends: ((outcome: 'had' | 'given up') => void)[] = [];
  const database = {
    query: ({ name }: Statement, [accountId]: readonly string[]) =>
      new Promise<never[]>((resolve, reject) => {
        // None of the accounts shares a wallet.
        if (name === 'select_accounts_of_same_wallet') {
          resolve([]);
          return;
        }
        waiting.push(accountId ?? '');
        ends.push((outcome) => {
          waiting.splice(waiting.indexOf(accountId ?? ''), 1);
          if (outcome === 'had') resolve([]);
          else reject(new LockTimeoutError('locked'));
        });
      }),
  } as unknown as Database;
  const end = async (outcome: 'had' | 'given up'): Promise<void> => {
    for (const settle of ends.splice(0)) settle(outcome);
    await turn();
  };
  return { database, waiting, end };
}

describe('transactions of many accounts', () => {
  it('leave connections to statements that lock no account', async () => {
    const { database, held, endAll } = heldDatabase();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, WAITING);

    const asked = Array.from({ length: 2 * POOL_SIZE }, (_, index) =>
      databaseOf(`acc_${index % POOL_SIZE}`).query(STATEMENT),
    );
    await turn();

    assert.equal(held.length, FOR_ACCOUNTS);
    await endAll();
    await Promise.all(asked);
  });

  it('have one connection each, and two together, once their rows have stayed locked', async () => {
    const { database, waiting, end } = lockedDatabase();
    const stalled = createStalledRows();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, { ...WAITING, perTenant: 100 }, undefined, stalled);
    const ask = (accountId: string): Promise<unknown> =>
      databaseOf(accountId)
        .query(STATEMENT, [accountId])
        .catch((error: unknown) => error);
    const frozen = ['acc_a', 'acc_b', 'acc_c', 'acc_d'];
    const asked = frozen.flatMap((accountId) => Array.from({ length: 10 }, () => ask(accountId)));
    while (!frozen.every((accountId) => stalled.has(accountId))) await end('given up');

    const tried = new Set<string>();
    for (let turns = 0; turns < 2; turns++) {
      assert.equal(waiting.length, 2);
      assert.equal(new Set(waiting).size, 2);
      for (const accountId of waiting) tried.add(accountId);
      await end('given up');
    }
    assert.deepEqual([...tried].sort(), frozen, 'they take turns');

    asked.push(...Array.from({ length: 4 }, () => ask('acc_healthy')));
    await turn();
    assert.equal(waiting.filter((accountId) => accountId === 'acc_healthy').length, 2, 'half of what they leave');

    const [freed] = waiting;
    assert.ok(freed);
    await end('had');
    assert.ok(!stalled.has(freed));
    while (waiting.length > 0) await end('had');
    const outcomes = await Promise.all(asked);
    assert.ok(outcomes.some((outcome) => outcome instanceof AccountBusyError));
    assert.ok(!frozen.some((accountId) => stalled.has(accountId)));
  });
});

describe('transactions of one account', () => {
  it('leave as many connections free as they use, statements outside transactions included', async () => {
    const { database, held, endAll } = heldDatabase();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, WAITING);
    const asked = Array.from({ length: FOR_ONE + WAITING.perTenant }, (_, index) =>
      index % 2 === 0
        ? databaseOf('acc_one').query(STATEMENT)
        : databaseOf('acc_one').transaction(() => Promise.resolve([])),
    );
    await turn();
    assert.equal(held.length, FOR_ONE);

    const other = databaseOf('acc_two').query(STATEMENT);
    await turn();
    assert.equal(held.length, FOR_ONE + 1);

    await endAll();
    await Promise.all([...asked, other]);
  });

  it('wait up to their limit, and beyond it are rejected immediately with a retryable error', async () => {
    const { database, endAll } = heldDatabase();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, WAITING);
    const waiting = Array.from({ length: FOR_ONE + WAITING.perTenant }, () => databaseOf('acc_one').query(STATEMENT));
    await turn();

    await assert.rejects(databaseOf('acc_one').query(STATEMENT), AccountBusyError);

    await endAll();
    await Promise.all(waiting);
  });

  it('are rejected when none of those before them ends in time', async () => {
    const { database } = heldDatabase();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, { ...WAITING, waitMs: 1 });
    for (let index = 0; index < FOR_ONE; index++) void databaseOf('acc_one').query(STATEMENT);

    await assert.rejects(databaseOf('acc_one').query(STATEMENT), AccountBusyError);
  });
});

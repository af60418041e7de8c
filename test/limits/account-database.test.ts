/** How many transactions of one account a process has under way, and who gets a connection beside them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Database } from '../../src/database/database.ts';
import { AccountBusyError, createAccountDatabase } from '../../src/limits/account-database.ts';

const POOL_SIZE = 10;
const WAITING = { perTenant: 3, perProcess: 100, waitMs: 60_000 };
const STATEMENT = { name: 'test', text: 'SELECT 1' };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Statements and transactions that end when the test says so. */
function heldDatabase() {
  const held: (() => void)[] = [];
  const hold = () => new Promise<never[]>((resolve) => held.push(() => resolve([])));
  const database = { query: hold, transaction: hold } as unknown as Database;
  return { database, held };
}

describe('transactions of one account', () => {
  it('leave as many connections free as they take, statements by themselves included', async () => {
    const { database, held } = heldDatabase();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, WAITING);
    const asked = Array.from({ length: 8 }, (_, place) =>
      place % 2 === 0
        ? databaseOf('acc_one').query(STATEMENT)
        : databaseOf('acc_one').transaction(() => Promise.resolve([])),
    );
    await turn();
    assert.equal(held.length, POOL_SIZE / 2);

    const other = databaseOf('acc_two').query(STATEMENT);
    await turn();
    assert.equal(held.length, POOL_SIZE / 2 + 1);

    while (held.length > 0) {
      held.shift()?.();
      await turn();
    }
    await Promise.all([...asked, other]);
  });

  it('wait up to their number, and beyond it are rejected at once with what can be tried again', async () => {
    const { database, held } = heldDatabase();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, WAITING);
    const waiting = Array.from({ length: POOL_SIZE / 2 + WAITING.perTenant }, () =>
      databaseOf('acc_one').query(STATEMENT),
    );
    await turn();

    await assert.rejects(databaseOf('acc_one').query(STATEMENT), AccountBusyError);

    while (held.length > 0) {
      held.shift()?.();
      await turn();
    }
    await Promise.all(waiting);
  });

  it('are rejected where none of those before them ends in time', async () => {
    const { database } = heldDatabase();
    const databaseOf = createAccountDatabase(database, POOL_SIZE, { ...WAITING, waitMs: 1 });
    for (let place = 0; place < POOL_SIZE / 2; place++) void databaseOf('acc_one').query(STATEMENT);

    await assert.rejects(databaseOf('acc_one').query(STATEMENT), AccountBusyError);
  });
});

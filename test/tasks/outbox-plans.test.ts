/**
 * How PostgreSQL executes the statements of the outbox where its statistics call a backlog empty: the table was, when
 * they were taken, as it is most of the time.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { Queryable } from '../../src/database/database.ts';
import { claimOutbox, claimOutboxOfAccount, releaseOutboxLease, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

const ROWS = 20_000;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
  const { accountId } = await room.newCaller();
  await room.rows(
    `INSERT INTO outbox (kind, account_id, subject_id, is_ready)
     SELECT 'start_task', $1, 'tk-' || n, true FROM generate_series(1, ${ROWS}) n`,
    accountId,
  );
  await room.rows('DELETE FROM outbox');
  await room.rows('VACUUM (ANALYZE, TRUNCATE false) outbox');
});
after(() => room.close());

/** @returns the plan of a statement that `run` prepares on its connection, for any parameters. */
async function planOf(name: string, run: (connection: Queryable) => Promise<unknown>): Promise<string> {
  return room.direct.transaction(async (transaction) => {
    await run(transaction);
    const [prepared] = await transaction.query<{ statement: string }>(
      { name: 'test_prepared', text: 'SELECT statement FROM pg_prepared_statements WHERE name = $1' },
      [name],
    );
    return explain(prepared?.statement ?? '');
  });
}

/** By a client of its own: with prepared statements, the parameters would have to be given. */
async function explain(statement: string): Promise<string> {
  const client = new pg.Client({ connectionString: room.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${statement}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await client.end();
  }
}

describe('the outbox, with statistics of an empty table', () => {
  const statements: readonly (readonly [string, (connection: Queryable) => Promise<unknown>])[] = [
    ['claim_outbox', (connection) => claimOutbox(connection, 1)],
    ['claim_outbox_of_account', (connection) => claimOutboxOfAccount(connection, 'acc_none', 1)],
    ['give_back_outbox', (connection) => releaseOutboxLease(connection, [1n])],
    ['remove_outbox', (connection) => removeOutbox(connection, [1n])],
  ];
  for (const [name, run] of statements) {
    it(`executes ${name} without joining the table row by row`, async () => {
      const plan = await planOf(name, run);

      assert.match(plan, /(?:Update|Delete) on outbox/);
      assert.doesNotMatch(plan, /(?:Join Filter|Hash Cond|Merge Cond): .*\b(?:o|outbox)\.id\b/);
    });
  }
});

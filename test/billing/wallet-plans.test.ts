/**
 * How PostgreSQL executes what moves money for accounts that share no wallet, with plans made while the table had a few
 * rows: nothing of it looks for another wallet, for which such a plan would read the counters of all accounts.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { settle } from '../../src/billing/ledger.ts';
import type { Settlement } from '../../src/billing/ledger.ts';
import type { Queryable, Statement } from '../../src/database/database.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { acceptTogether } from '../../src/tasks/create/accept.ts';
import { moveTextMoney } from '../../src/text/money/move.ts';
import { newTask } from '../tasks/new-task.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

interface Sent {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** The first statement that `run` sends. */
async function sentBy(run: (connection: Queryable) => Promise<unknown>): Promise<Sent> {
  const sent: Sent[] = [];
  await run({
    query(statement, values = []) {
      sent.push({ statement, values });
      return Promise.resolve([]);
    },
  }).catch(() => undefined);
  return sent[0] ?? assert.fail('nothing was sent');
}

/** Executes it in a transaction that is rolled back. @returns the plan, with what each node did. */
async function executionOf({ statement, values }: Sent): Promise<string> {
  const client = new pg.Client({ connectionString: room.url });
  await client.connect();
  try {
    await client.query('BEGIN');
    const text = `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${statement.text}`;
    const { rows } = await client.query<{ 'QUERY PLAN': string }>({ text, values: values.map(textOf) });
    await client.query('ROLLBACK');
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await client.end();
  }
}

function textOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(textOf);
  return typeof value === 'bigint' ? `${value}` : value;
}

function settlement(): Settlement {
  return {
    reference: newTaskId(),
    keyId: 'none',
    model: 'acme/images',
    heldMicroUsd: 0n,
    capturedMicroUsd: 0n,
    occupied: 'running',
  };
}

const MOVES: Readonly<Record<string, (connection: Queryable, accountId: string) => Promise<unknown>>> = {
  'a hold': (connection, accountId) =>
    acceptTogether(connection, accountId, [newTask(accountId, { holdMicroUsd: 5n })], false),
  'a settlement': (connection, accountId) => settle(connection, accountId, [settlement()]),
  'two settlements': (connection, accountId) => settle(connection, accountId, [settlement(), settlement()]),
  'a text call': (connection, accountId) => moveTextMoney(connection, accountId, randomUUID(), [], []),
};

/** Scans of rows under the alias `w`, which has the wallet of accounts that share one. */
const scansOfWallet = (plan: string): readonly string[] =>
  plan.split('\n').filter((line) => /Scan.* on account_counters w(_\d+)? /.test(line));

describe('the counters of other accounts', () => {
  for (const [name, move] of Object.entries(MOVES)) {
    it(`are not read for ${name} of an account that shares no wallet`, async () => {
      const { accountId } = await room.newCaller();
      await room.rows('UPDATE account_counters SET running = 2 WHERE account_id = $1', accountId);

      const plan = await executionOf(await sentBy((connection) => move(connection, accountId)));

      assert.notDeepEqual(scansOfWallet(plan), []);
      for (const scan of scansOfWallet(plan)) assert.match(scan, /never executed/, plan);
    });

    it(`are read for ${name} of one that does`, async () => {
      const { accountId } = await room.newCaller({ sharesWalletOf: await room.newCaller() });
      await room.rows('UPDATE account_counters SET running = 2 WHERE account_id = $1', accountId);

      const plan = await executionOf(await sentBy((connection) => move(connection, accountId)));

      assert.ok(
        scansOfWallet(plan).some((scan) => !scan.includes('never executed')),
        plan,
      );
    });
  }
});

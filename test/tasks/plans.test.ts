/**
 * How PostgreSQL executes statements of tasks with statistics that mislead it. Those of the outbox, where they call a
 * backlog empty: the table was, when they were taken, as it is most of the time. Those of pruning, and of creates that
 * look up its keys, by indexes, whatever share of a table PostgreSQL takes a limit or a list of ids for.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { Queryable, Statement } from '../../src/database/database.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import { claimOutbox, claimOutboxOfAccount, releaseOutboxLease, removeOutbox } from '../../src/tasks/outbox/outbox.ts';
import { createOldTask, openPruningRoom } from './old-tasks.ts';
import type { PruningRoom } from './old-tasks.ts';
import { recording } from './recorded-statements.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

/** The plan for any parameters. By a client of its own: with prepared statements, they would have to be given. */
async function explain({ url }: TaskRoom, statement: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${statement}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await client.end();
  }
}

describe('the outbox, with statistics of an empty table', () => {
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
      return explain(room, prepared?.statement ?? '');
    });
  }

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

describe('with large tables', () => {
  const TASKS = 20_000;
  /** Large tables, each with rows of every task. */
  const TABLES = [
    'tasks',
    'task_events',
    'task_metadata',
    'outputs',
    'generations',
    'callbacks',
    'callback_attempts',
    'pruned_tasks',
  ];

  let room: TaskRoom;
  let pruning: PruningRoom;
  before(async () => {
    room = await openTaskRoom();
    pruning = await openPruningRoom(room);
    const caller = await room.newCaller();
    const like = await createOldTask(room, caller, { key: 'like' });
    await room.rows(
      `INSERT INTO generations (task_id, upstream, state, files) VALUES ($1, 'local', 'produced', '[]')`,
      like,
    );
    for (const table of TABLES.slice(0, -1)) await copyRows(table);
    await room.rows(`UPDATE account_counters SET tasks_total = tasks_total + ${TASKS}`);
    await room.rows(
      `INSERT INTO pruned_tasks SELECT 'tk-pruned-' || n, $1, '', 1, 0, 0, NULL, now(), now(), now(), 1
         FROM generate_series(1, ${TASKS}) n`,
      caller.accountId,
    );
    await room.rows(`VACUUM (ANALYZE) ${TABLES.join(', ')}`);
  });
  after(async () => {
    await pruning.close();
    await room.close();
  });

  /** Copies the rows of the only task for thousands of others, half of them of the last days. */
  async function copyRows(table: string): Promise<void> {
    const own = table === 'tasks' ? 'id' : 'task_id';
    const ids = `'tk-copy-' || n`;
    const changes: Readonly<Record<string, string>> = {
      [own]: ids,
      ...(table === 'tasks' ? { idempotency_key: ids, created_at: `now() - n * interval '5 minutes'` } : {}),
      ...(table === 'outputs' ? { id: `'out-' || n` } : {}),
      ...(table === 'task_metadata' ? { created_at: `now() - n * interval '5 minutes'` } : {}),
    };
    const columns = await room.rows<{ name: string }>(
      `SELECT column_name::text AS name FROM information_schema.columns WHERE table_name = $1 AND table_schema = 'public'`,
      table,
    );
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    const values = columns.map(({ name }) => changes[name] ?? `t."${name}"`).join(', ');
    await room.rows(
      `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${table} t, generate_series(1, ${TASKS}) n
        WHERE NOT starts_with(t.${own}, 'tk-copy-')`,
    );
  }

  async function assertByIndexes(statements: ReadonlyMap<string, Statement>): Promise<void> {
    for (const { name, text } of statements.values()) {
      if (!/^\s*(?:WITH|SELECT|UPDATE|INSERT|DELETE)/.test(text)) continue;
      const plan = await explain(room, text);
      for (const table of TABLES) assert.doesNotMatch(plan, new RegExp(`Seq Scan on ${table}\\b`), `${name}\n${plan}`);
    }
  }

  it('a pass reads no table as a whole', async () => {
    const statements = new Map<string, Statement>();

    const pruned = await pruning.prune({ endAt: 0 }, recording(room.direct, statements));

    assert.ok(pruned > 0);
    assert.ok(statements.has('delete_pruned_tasks'));
    await assertByIndexes(statements);
  });

  it('a create, alone or with others, finds a pruned task by its id', async () => {
    const statements = new Map<string, Statement>();
    const creator = createTaskCreator({ ...room.creatorDependencies, database: recording(room.direct, statements) });
    const caller = await room.newCaller();

    await creator.create(caller, body(), 'a-key');
    await assert.rejects(creator.create(caller, { model: 'acme/none' }, 'no-key'));
    const items = [{ body: body(), idempotencyKey: 'many' }];
    await creator.createMany(
      caller,
      items,
      () => Promise.resolve(0),
      () => Promise.resolve(),
    );

    const names = ['accept_tasks', 'select_task_by_idempotency_key', 'select_tasks_by_idempotency_keys'];
    for (const name of names) assert.ok(statements.has(name), name);
    await assertByIndexes(statements);
  });
});

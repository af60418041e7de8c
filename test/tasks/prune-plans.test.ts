/**
 * How PostgreSQL executes the statements of pruning, and of creates that look up its keys: by indexes, whatever share of
 * a table it takes a limit or a list of ids for.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import type { Statement } from '../../src/database/database.ts';
import { createTaskCreator } from '../../src/tasks/create/create.ts';
import { createOldTask, openPruningRoom } from './old-tasks.ts';
import type { PruningRoom } from './old-tasks.ts';
import { recording } from './recorded-statements.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

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
let client: pg.Client;
before(async () => {
  room = await openTaskRoom();
  pruning = await openPruningRoom(room);
  client = new pg.Client({ connectionString: room.url });
  await client.connect();
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
  await client.end();
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
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${text}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    for (const table of TABLES) assert.doesNotMatch(plan, new RegExp(`Seq Scan on ${table}\\b`), `${name}\n${plan}`);
  }
}

describe('with large tables', () => {
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

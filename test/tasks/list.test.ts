/** Lists of tasks on a real database: which tasks, in which order, how many, and what it costs (contract §3). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { TASK_STATUSES, TERMINAL_STATUSES } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { leadsOf, createTaskLister } from '../../src/tasks/listing/list.ts';
import type { TaskFilter, TaskLister } from '../../src/tasks/listing/list.ts';
import { countCall, pageCall, probeCall } from '../../src/tasks/listing/list-statements.ts';
import type { Call, Range } from '../../src/tasks/listing/list-statements.ts';
import { openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(() => room.close());

const MINUTE_MS = 60_000;
const EVERYTHING: Range = { from: '-infinity', before: { createdAt: 'infinity', id: '' } };

/** A task as these tests write it: much faster than through its whole life. */
interface Row {
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly status: TaskStatus;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly createdMicros: number;
}

const DAY_MICROS = 1_790_000_000_000_000;
let nextId = 0;

function newRow(changes: Partial<Row> = {}): Row {
  const id = `tk-svc-${String(nextId++).padStart(26, '0')}`;
  return { id, keyId: 'one', model: 'a', status: 'success', metadata: null, createdMicros: DAY_MICROS, ...changes };
}

/** Writes tasks with the columns that lists read, as accepting them would. */
async function write({ accountId }: Caller, rows: readonly Row[]): Promise<void> {
  await room.rows(
    `WITH row AS (
       SELECT *, 'epoch'::timestamptz + "createdMicros" * interval '1 microsecond' AS created_at
         FROM jsonb_to_recordset($2::jsonb)
           AS r (id text, "keyId" text, model text, status text, metadata jsonb, "createdMicros" float8)),
     task AS (
       INSERT INTO tasks (id, account_id, key_id, fingerprint, fingerprint_version, model, definition_hash, input, metadata,
                          storage, status, held_micro_usd, captured_micro_usd, error_reason, created_at,
                          queue_deadline_at, completed_at)
       SELECT id, $1, "keyId", '', 1, model, 'none', '{"prompt": "a fox"}', nullif(metadata, 'null'), 'temp', status, 0,
              CASE WHEN status IN ('success', 'fail') THEN 0 END, CASE WHEN status = 'fail' THEN 'provider_error' END,
              created_at, created_at, CASE WHEN status IN ('success', 'fail') THEN created_at END
         FROM row),
     counted AS (
       UPDATE account_counters SET tasks_total = tasks_total + (SELECT count(*) FROM row) WHERE account_id = $1)
     INSERT INTO task_metadata (account_id, pair, created_at, task_id)
     SELECT $1, metadata_pair(m.key, m.value), row.created_at, row.id
       FROM row, jsonb_each_text(nullif(row.metadata, 'null')) m`,
    accountId,
    JSON.stringify(rows),
  );
}

/** Reads a whole list through its cursors. */
async function walk(lister: TaskLister, { accountId }: Caller, filter: TaskFilter, size: number): Promise<string[]> {
  const ids: string[] = [];
  let page = await lister.list({ accountId, filter, offset: 0, size });
  for (;;) {
    ids.push(...page.tasks.map(({ id }) => id));
    if (page.next === undefined) return ids;
    assert.equal(page.tasks.length, size);
    assert.ok(ids.length < 1_000, 'the cursors lead nowhere');
    page = await lister.list({ accountId, filter, offset: 0, size, after: page.next });
  }
}

const lister = (now: () => number = Date.now): TaskLister => createTaskLister(room.database, now);

describe('a list', () => {
  const PAIRS = { shop: ['north', 'south'], order: ['1', '2', '3'] } as const;
  const pairs = fc.record(
    { shop: fc.constantFrom(...PAIRS.shop), order: fc.constantFrom(...PAIRS.order) },
    { requiredKeys: [] },
  );
  const row = fc.record({
    keyId: fc.constantFrom('one', 'two'),
    model: fc.constantFrom('a', 'a@fast', 'b'),
    status: fc.constantFrom(...TASK_STATUSES),
    metadata: fc.option(pairs),
    // Few seconds and fractions: many tasks are created in the same microsecond, like those of one commit.
    createdMicros: fc.nat(8).map((index) => DAY_MICROS + index * 400_001),
  });
  const time = fc.nat(4).map((index) => DAY_MICROS / 1_000_000 - 1 + index);

  it('has exactly the tasks that match every filter, newest first, whatever its pages and other accounts', async () => {
    const [caller, stranger] = [await room.newCaller(), await room.newCaller()];
    const rows = fc.sample(row, { numRuns: 150, seed: 1 }).map(newRow);
    await write(caller, rows);
    await write(stranger, fc.sample(row, { numRuns: 50, seed: 2 }).map(newRow));
    const newestFirst = rows.toSorted((a, b) => b.createdMicros - a.createdMicros || (a.id < b.id ? 1 : -1));
    const fields = {
      statuses: fc.uniqueArray(fc.constantFrom(...TASK_STATUSES), { minLength: 1 }),
      model: fc.constantFrom('a', 'a', 'a@fast', 'b', 'c'),
      keyId: fc.constantFrom('one', 'two', 'three'),
      ids: fc.subarray(
        rows.map(({ id }) => id),
        { minLength: 1, maxLength: 100 },
      ),
      metadata: fc.oneof(pairs, fc.constant({ shop: 'west' })),
      createdAfter: time,
      createdBefore: time,
    };
    // Few at a time: hardly any task matches many together.
    const filters: fc.Arbitrary<TaskFilter> = fc
      .subarray(Object.keys(fields) as (keyof TaskFilter)[], { maxLength: 3 })
      .chain((names) => fc.record(fields).map((filter) => pick(filter, names)));
    const matches = (task: Row, filter: TaskFilter): boolean => {
      const created = Math.floor(task.createdMicros / 1_000_000);
      return (
        (filter.statuses?.includes(task.status) ?? true) &&
        (filter.ids?.includes(task.id) ?? true) &&
        task.model === (filter.model ?? task.model) &&
        task.keyId === (filter.keyId ?? task.keyId) &&
        Object.entries(filter.metadata ?? {}).every(([name, value]) => task.metadata?.[name] === value) &&
        created > (filter.createdAfter ?? 0) &&
        created < (filter.createdBefore ?? Infinity)
      );
    };
    const lists = lister();

    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 40 }), fc.nat(60), async (filter, size, offset) => {
        const expected = newestFirst.filter((task) => matches(task, filter)).map(({ id }) => id);

        assert.deepEqual(await walk(lists, caller, filter, size), expected);
        const { accountId } = caller;
        const page = await lists.list({ accountId, filter, offset, size });
        assert.deepEqual(
          page.tasks.map(({ id }) => id),
          expected.slice(offset, offset + size),
        );
        assert.deepEqual([page.total, page.isCapped], [expected.length, false]);
        assert.equal(page.next === undefined, offset + size >= expected.length);
      }),
      { numRuns: 150 },
    );
  });

  it('by several filters uses the most selective of them', async () => {
    const caller = await room.newCaller();
    const frequent = Array.from({ length: 1_500 }, () => newRow({ model: 'a', keyId: 'one' }));
    const rare = newRow({ model: 'a', keyId: 'one', metadata: { shop: 'north' }, status: 'fail' });
    await write(caller, [...frequent, rare]);
    room.forgetStatements();

    const filter: TaskFilter = { model: 'a', keyId: 'one', statuses: ['success', 'fail'] };
    const byStatus = { ...filter, statuses: ['fail'] as const };
    await lister().list({ accountId: caller.accountId, filter: byStatus, offset: 0, size: 10 });
    await lister().list({
      accountId: caller.accountId,
      filter: { ...filter, metadata: { shop: 'north' } },
      offset: 0,
      size: 10,
    });

    const led = room.statements.filter((name) => name.startsWith('list_'));
    assert.deepEqual(led, ['list_tasks_by_fail_and_more', 'list_tasks_by_metadata_and_more']);
  });
});

describe('the total', () => {
  // Proves C3-29.
  it('is exact up to 10,000 and capped beyond, for all tasks and for each filter', async () => {
    const caller = await room.newCaller();
    const { accountId } = caller;
    const common = { metadata: { shop: 'north' } } as const;
    await write(
      caller,
      Array.from({ length: 10_000 }, () => newRow(common)),
    );
    const filters: TaskFilter[] = [
      {},
      { statuses: ['success'] },
      { statuses: ['success', 'queued'] },
      { model: 'a' },
      { keyId: 'one' },
      { metadata: { shop: 'north' } },
      { model: 'a', keyId: 'one' },
      { createdAfter: 0 },
    ];
    const lists = lister();
    const totals = async (): Promise<unknown[]> =>
      Promise.all(
        filters.map(async (filter) => {
          const { total, isCapped } = await lists.list({ accountId, filter, offset: 0, size: 1 });
          return { total, isCapped };
        }),
      );

    assert.deepEqual(
      await totals(),
      filters.map(() => ({ total: 10_000, isCapped: false })),
    );
    await write(caller, [newRow(common)]);
    assert.deepEqual(
      await totals(),
      filters.map(() => ({ total: 10_000, isCapped: true })),
    );

    // A total above the cap is counted only once.
    room.forgetStatements();
    assert.deepEqual(
      await totals(),
      filters.map(() => ({ total: 10_000, isCapped: true })),
    );
    assert.deepEqual(
      room.statements.filter((name) => name.startsWith('count_')),
      [],
    );
    // And the last page is reached.
    const { tasks, next } = await lists.list({ accountId, filter: {}, offset: 9_900, size: 100 });
    assert.deepEqual([tasks.length, next?.id], [100, tasks.at(-1)?.id]);
  });

  it('of open tasks is counted each time, because they leave', async () => {
    const caller = await room.newCaller();
    const { accountId } = caller;
    await write(
      caller,
      Array.from({ length: 10_001 }, () => newRow({ status: 'queued' })),
    );
    const lists = lister();
    const filters: TaskFilter[] = [{ statuses: ['queued'] }, { statuses: ['queued', 'fail'], model: 'a' }];
    for (const filter of filters) {
      assert.equal((await lists.list({ accountId, filter, offset: 0, size: 1 })).isCapped, true);
    }

    await room.rows(
      `UPDATE tasks SET status = 'success', completed_at = now(), captured_micro_usd = 0
        WHERE id IN (SELECT id FROM tasks WHERE account_id = $1 LIMIT 2)`,
      accountId,
    );

    for (const filter of filters) {
      const { total, isCapped } = await lists.list({ accountId, filter, offset: 0, size: 1 });
      assert.deepEqual([total, isCapped], [9_999, false]);
    }
  });

  it('by metadata is counted again after a minute, because erased tasks leave', async () => {
    const caller = await room.newCaller();
    const { accountId } = caller;
    const filter: TaskFilter = { metadata: { shop: 'north' } };
    await write(
      caller,
      Array.from({ length: 10_001 }, () => newRow({ metadata: { shop: 'north' } })),
    );
    let now = 0;
    const lists = lister(() => now);
    const isCapped = async (): Promise<boolean> =>
      (await lists.list({ accountId, filter, offset: 0, size: 1 })).isCapped;
    assert.equal(await isCapped(), true);
    await room.rows(
      'DELETE FROM task_metadata WHERE account_id = $1 AND task_id IN (SELECT max(id) FROM tasks)',
      accountId,
    );

    now = MINUTE_MS - 1;
    assert.equal(await isCapped(), true);
    now = MINUTE_MS;
    assert.equal(await isCapped(), false);
  });
});

describe('the statements', () => {
  /** Every filter that results in a statement of its own, with each of its leads. */
  function* everyCall(accountId: string): Generator<Call> {
    const metadata = [undefined, { a: '1' }, { a: '1', b: '2' }];
    const statuses = [undefined, ...subsets(['queued', ...TERMINAL_STATUSES])];
    for (const pairs of metadata) {
      for (const wanted of statuses) {
        for (const bits of [0, 1, 2, 3, 4, 5, 6, 7]) {
          const filter: TaskFilter = {
            ...(pairs === undefined ? {} : { metadata: pairs }),
            ...(wanted === undefined ? {} : { statuses: wanted }),
            ...((bits & 1) === 0 ? {} : { model: 'a' }),
            ...((bits & 2) === 0 ? {} : { keyId: 'one' }),
            ...((bits & 4) === 0 ? {} : { ids: ['x'] }),
          };
          for (const lead of leadsOf(filter)) {
            yield pageCall(accountId, filter, lead, EVERYTHING, { offset: 0, rows: 11 });
            yield pageCall(accountId, filter, lead, EVERYTHING, { offset: 10, rows: 11 });
            yield countCall(accountId, filter, lead, EVERYTHING);
            yield probeCall(accountId, lead, EVERYTHING);
          }
        }
      }
    }
  }

  it('have few names, each for one text, and PostgreSQL accepts them all', async () => {
    const { accountId } = await room.newCaller();
    const texts = new Map<string, string>();
    for (const { statement, values } of everyCall(accountId)) {
      assert.equal(texts.get(statement.name) ?? statement.text, statement.text, statement.name);
      if (!texts.has(statement.name)) await room.database.query(statement, values);
      texts.set(statement.name, statement.text);
    }

    // They stay prepared on each connection.
    assert.ok(texts.size < 90, String(texts.size));
    // PostgreSQL truncates longer names, which then collide.
    for (const name of texts.keys()) assert.ok(name.length < 64, name);
  });

  it('read a page and not the account, although there are no statistics of the filter', async () => {
    const caller = await room.newCaller();
    const { accountId } = caller;
    const frequent = Array.from({ length: 20_000 }, (_, index) =>
      newRow({ metadata: { shop: 'north' }, createdMicros: DAY_MICROS + index }),
    );
    await write(caller, frequent);
    await room.rows('VACUUM ANALYZE tasks, task_metadata');
    // The oldest of all: walking the account, newest first, reads everything before it.
    const odd = newRow({ model: 'b', keyId: 'two', status: 'fail', metadata: { shop: 'south' }, createdMicros: 0 });
    await write(caller, [odd]);
    const filters: TaskFilter[] = [
      { model: 'b' },
      { keyId: 'two' },
      { statuses: ['fail'] },
      { statuses: ['queued', 'fail'] },
      { metadata: { shop: 'south' } },
      { ids: [odd.id] },
      { model: 'b', statuses: ['success', 'fail'] },
      { model: 'a', statuses: ['fail'], metadata: { shop: 'south' } },
    ];

    for (const filter of filters) {
      const lead = leadsOf(filter)[0];
      for (const call of [
        pageCall(accountId, filter, lead, EVERYTHING, { offset: 0, rows: 11 }),
        countCall(accountId, filter, lead, EVERYTHING),
      ]) {
        for (const mode of ['force_custom_plan', 'force_generic_plan'] as const) {
          const blocks = await blocksRead(call, mode);
          assert.ok(
            blocks < 60,
            `${call.statement.name} of ${JSON.stringify(filter)} reads ${blocks} blocks (${mode})`,
          );
        }
      }
    }
  });

  /** How many blocks a statement touches. */
  async function blocksRead({ statement, values }: Call, mode: string): Promise<number> {
    return room.database.transaction(async (transaction) => {
      const run = (name: string, text: string, parameters: readonly unknown[] = []): Promise<readonly unknown[]> =>
        transaction.query({ name: `explain_${name}`, text }, parameters);
      await run(`set_${mode}`, `SET LOCAL plan_cache_mode = ${mode}`);
      // EXPLAIN (GENERIC_PLAN) cannot execute a statement, but one that was prepared by name can be explained with
      // its execution.
      await run(`prepare_${nextId++}`, `PREPARE explained AS ${statement.text}`);
      const literals = values.map(literal).join(', ');
      const rows = await run(
        `run_${nextId++}`,
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON, TIMING OFF) EXECUTE explained (${literals})`,
      );
      await run('deallocate', 'DEALLOCATE explained');
      const [{ 'QUERY PLAN': plans } = { 'QUERY PLAN': [] }] = rows as readonly {
        'QUERY PLAN': readonly { Plan: Record<string, number> }[];
      }[];
      const plan = plans[0]?.Plan ?? {};
      return (plan['Shared Hit Blocks'] ?? NaN) + (plan['Shared Read Blocks'] ?? NaN);
    });
  }
});

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]::text[]`;
  return `'${value as string}'`;
}

function pick(filter: TaskFilter, names: readonly (keyof TaskFilter)[]): TaskFilter {
  return Object.fromEntries(names.map((name) => [name, filter[name]]));
}

function subsets(statuses: readonly TaskStatus[]): TaskStatus[][] {
  return statuses
    .reduce<TaskStatus[][]>((sets, status) => [...sets, ...sets.map((set) => [...set, status])], [[]])
    .slice(1);
}

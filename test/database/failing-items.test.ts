/**
 * Items that a pass cannot process: they stop no other, wait longer each time, and are removed from the list when
 * processed.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import { countFailingItems, createIsolation, listFailingItems } from '../../src/database/failing-items.ts';
import type { Isolation } from '../../src/database/failing-items.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { parseExposition } from '../telemetry/exposition.ts';

let room: TestDatabase;
let isolate: Isolation;
const metrics = createMetrics();
before(async () => {
  room = await createTestDatabase();
  isolate = createIsolation({ database: room.database, logger: silentLogger(), metrics: metrics.passes });
});
after(() => room.close());

const idOf = (id: string): string => id;

/** Works on objects; those named `bad…` fail. @returns those that were attempted. */
async function work(items: readonly string[], isBad = (id: string) => id.startsWith('bad')): Promise<string[]> {
  const tried: string[] = [];
  await isolate({
    kind: 'object',
    items,
    idOf,
    async work(id) {
      tried.push(id);
      if (isBad(id)) throw new RangeError(`no ${id}`);
    },
    atOnce: 2,
  });
  return tried;
}

async function comeDue(id: string): Promise<void> {
  const text = `UPDATE failing_items SET retry_at = now() WHERE subject_id = $1`;
  await room.database.query({ name: 'test_item_due', text }, [id]);
}

/** A statement that the server ends, like any that takes 15 s. */
async function sleepTooLong(): Promise<void> {
  await room.database.transaction(async (transaction) => {
    await transaction.query({ name: 'test_timeout', text: `SELECT set_config('statement_timeout', '50', true)` });
    await transaction.query({ name: 'test_sleep', text: 'SELECT pg_sleep(60)' });
  });
}

async function waitSeconds(id: string): Promise<number> {
  const item = (await listFailingItems(room.database, { limit: 100 })).find((each) => each.id === id);
  return Math.round(((item?.retryAt.getTime() ?? NaN) - (item?.lastFailedAt.getTime() ?? NaN)) / 1000);
}

describe('items of a pass', () => {
  it('are processed to the last one, whichever of them fail', async () => {
    assert.deepEqual(await work(['bad-1', 'a', 'b', 'bad-2', 'c']), ['bad-1', 'a', 'b', 'bad-2', 'c']);

    const listed = await listFailingItems(room.database, { kind: 'object', limit: 10 });
    assert.deepEqual(
      listed.map(({ id, failures, error }) => [id, failures, error]),
      [
        ['bad-1', 1, 'RangeError: no bad-1'],
        ['bad-2', 1, 'RangeError: no bad-2'],
      ],
    );
    const counted = parseExposition(await metrics.registry.metrics());
    assert.equal(counted.value('darkroom_pass_item_failures_total', { kind: 'object' }), 2);
  });

  it('are skipped until their retry is due, which takes twice as long each time, up to an hour', async () => {
    await work(['bad-slow']);
    assert.deepEqual(await work(['bad-slow', 'd']), ['d']);

    const waits = [await waitSeconds('bad-slow')];
    for (let retry = 0; retry < 8; retry++) {
      await comeDue('bad-slow');
      assert.deepEqual(await work(['bad-slow']), ['bad-slow']);
      waits.push(await waitSeconds('bad-slow'));
    }
    assert.deepEqual(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  });

  it('are stated as failing after three passes, until they succeed', async () => {
    const failing = async (): Promise<number> => (await countFailingItems(room.database)).get('object') ?? 0;
    const before = await failing();
    await work(['bad-often']);
    for (let retry = 0; retry < 2; retry++) {
      assert.equal(await failing(), before);
      await comeDue('bad-often');
      await work(['bad-often']);
    }
    assert.equal(await failing(), before + 1);
    await room.database.query({
      name: 'test_failed_long_ago',
      text: `UPDATE failing_items SET last_failed_at = now() - interval '3 hours' WHERE subject_id = 'bad-often'`,
    });
    assert.equal(await failing(), before, 'nobody tries it any more');
  });

  it('are removed from the list once they succeed', async () => {
    await work(['bad-once']);
    await comeDue('bad-once');
    assert.deepEqual(await work(['bad-once'], () => false), ['bad-once']);

    const listed = await listFailingItems(room.database, { limit: 100 });
    assert.equal(
      listed.some(({ id }) => id === 'bad-once'),
      false,
    );
  });

  it('are counted as failing when a row of theirs is locked or a statement times out, and the database is available', async (t) => {
    const operator = new pg.Client({ connectionString: room.url });
    await operator.connect();
    t.after(() => operator.end());
    await operator.query('BEGIN; SELECT FROM installation FOR UPDATE');
    const tried: string[] = [];
    await isolate({
      kind: 'expiry',
      items: ['locked', 'slow', 'fine'],
      idOf,
      async work(id) {
        tried.push(id);
        if (id === 'locked')
          await room.database.query({ name: 'test_lock', text: 'SELECT FROM installation FOR UPDATE' });
        if (id === 'slow') await sleepTooLong();
      },
    });

    assert.deepEqual(tried, ['locked', 'slow', 'fine']);
    const listed = await listFailingItems(room.database, { kind: 'expiry', limit: 10 });
    assert.deepEqual(
      listed.map(({ id, error }) => [id, error]),
      [
        [
          'locked',
          'LockTimeoutError: a row stayed locked by another transaction (canceling statement due to lock timeout)',
        ],
        [
          'slow',
          'DatabaseUnavailableError: the database is not available (canceling statement due to statement timeout)',
        ],
      ],
    );
  });

  it('are neither waited for nor counted as failing when the pass is stopped', async () => {
    const stop = new AbortController();
    const stopped = new RangeError('the worker stops');
    const tried: string[] = [];
    const pass = createIsolation({
      database: room.database,
      logger: silentLogger(),
      metrics: metrics.passes,
      signal: stop.signal,
    })({
      kind: 'unpaid_storage',
      items: ['stuck', 'interrupted', 'next'],
      idOf,
      work(id) {
        tried.push(id);
        if (id === 'stuck') return new Promise<never>(() => {});
        stop.abort(stopped);
        return Promise.reject(new Error('interrupted'));
      },
      atOnce: 2,
    });

    await assert.rejects(pass, stopped);
    assert.deepEqual(tried, ['stuck', 'interrupted']);
    assert.deepEqual(await listFailingItems(room.database, { kind: 'unpaid_storage', limit: 10 }), []);
  });

  it('are not counted as failing when the database is unavailable', async () => {
    const { database } = room;
    const isAway = { ...database, check: () => Promise.reject(new DatabaseUnavailableError('away')) };
    const away = createIsolation({ database: isAway, logger: silentLogger(), metrics: metrics.passes })({
      kind: 'task',
      items: ['one', 'two'],
      idOf,
      work: () => Promise.reject(new DatabaseUnavailableError('away')),
    });
    await assert.rejects(away, DatabaseUnavailableError);

    assert.deepEqual(await listFailingItems(room.database, { kind: 'task', limit: 10 }), []);
  });

  it('are recorded, and progress is noted, before the pass ends because the rest would fail as well', async () => {
    const noted: string[] = [];
    const pass = (): Promise<unknown> =>
      isolate({
        kind: 'webhook_key',
        items: ['fine', 'bad', 'another', 'bad as well'],
        idOf,
        work: async (id) => {
          if (id.startsWith('bad')) throw new Error('no answer');
        },
        onDone: async (done) => {
          noted.push(...done);
        },
        requireSurroundings: () => Promise.reject(new RangeError('the store is away')),
      });
    const listed = async (): Promise<readonly string[]> =>
      (await listFailingItems(room.database, { kind: 'webhook_key', limit: 10 })).map(({ id }) => id);

    await assert.rejects(pass(), RangeError);
    assert.deepEqual(noted, ['fine']);
    assert.deepEqual(await listed(), ['bad']);

    // The next pass gets further, whatever its environment.
    await assert.rejects(pass(), RangeError);
    assert.deepEqual(noted, ['fine', 'fine', 'another']);
    assert.deepEqual(await listed(), ['bad', 'bad as well']);
  });

  it('are left to the next pass when the time budget of this one is used up', async () => {
    const result = await isolate({ kind: 'task', items: ['one'], idOf, work: () => assert.fail(), endAt: 0 });

    assert.deepEqual(result, { done: [], failed: [] });
  });
});

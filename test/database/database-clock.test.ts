/** The clock of the database as a process knows it, and how a wrong clock of the machine is noticed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDatabaseClock } from '../../src/database/database-clock.ts';
import type { DatabaseClock } from '../../src/database/database-clock.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import type { Queryable } from '../../src/database/database.ts';
import type { Logger } from '../../src/telemetry/log.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const DAYS_30 = 30 * 86_400_000;

/** All clocks, moved by hand. */
interface World {
  /** The time of the database. */
  database: number;
  /** How far the machine is ahead of it. */
  aheadMs: number;
  steady: number;
  /** How long a response takes. */
  tripMs: number;
  isAway: boolean;
  readonly logged: { level: string; message: string; skewSeconds: number }[];
  readonly clock: DatabaseClock;
}

function world({ maxSkewMs = 10_000 } = {}): World {
  const logged: World['logged'] = [];
  const log = (level: string) => (fields: { skewSeconds: number }, message: string) =>
    void logged.push({ level, message, skewSeconds: fields.skewSeconds });
  const logger = { error: log('error'), info: log('info'), debug() {} } as unknown as Logger;
  const database = {
    async query() {
      if (made.isAway) throw new DatabaseUnavailableError('away');
      pass(made.tripMs / 2);
      const ms = made.database;
      pass(made.tripMs / 2);
      return [{ ms }];
    },
  } as unknown as Queryable;
  const pass = (ms: number): void => {
    made.database += ms;
    made.steady += ms;
  };
  const made: World = {
    database: NOW,
    aheadMs: 0,
    steady: 500,
    tripMs: 2,
    isAway: false,
    logged,
    clock: createDatabaseClock({
      database,
      logger,
      maxSkewMs,
      systemClock: () => made.database + made.aheadMs,
      steadyClock: () => made.steady,
    }),
  };
  return made;
}

describe('the clock of the database', () => {
  for (const aheadMs of [DAYS_30, -DAYS_30]) {
    it(`is used when the machine is ${aheadMs > 0 ? 'ahead' : 'behind'} by 30 days, and the machine's clock is reported as wrong`, async () => {
      const it = world();
      it.aheadMs = aheadMs;
      assert.equal(await it.clock.measure(), true);

      assert.ok(Math.abs(it.clock.now() - it.database) <= 1);
      assert.ok(Math.abs((it.clock.skewMs() ?? 0) - aheadMs) <= 2);
      assert.equal(it.clock.isRight(), false);
      assert.deepEqual(
        it.logged.map(({ level }) => level),
        ['error'],
      );

      it.aheadMs = 0;
      await it.clock.measure();
      assert.equal(it.clock.isRight(), true);
      assert.deepEqual(
        it.logged.map(({ level }) => level),
        ['error', 'info'],
      );
    });
  }

  it('does not move when the clock of the machine is set', async () => {
    const it = world();
    await it.clock.measure();
    it.aheadMs = DAYS_30;
    it.database += 1_000;
    it.steady += 1_000;

    assert.ok(Math.abs(it.clock.now() - it.database) <= 1);
  });

  it('is reported as off only beyond the limit, and not after a slow response', async () => {
    const it = world();
    it.aheadMs = 9_900;
    await it.clock.measure();
    assert.equal(it.clock.isRight(), true);

    it.aheadMs = 10_100;
    it.tripMs = 1_000;
    await it.clock.measure();
    assert.equal(it.clock.isRight(), true);

    it.tripMs = 2;
    await it.clock.measure();
    assert.equal(it.clock.isRight(), false);
  });

  it('is reported as right only well within the limit, so that drift along it does not flap', async () => {
    const it = world();
    for (const [aheadMs, tripMs] of [
      [10_100, 2],
      [9_900, 2],
      [10_050, 200],
      [9_000, 1_000],
      [5_100, 2],
      [-9_900, 400],
      [4_900, 12_000],
    ] as const) {
      it.aheadMs = aheadMs;
      it.tripMs = tripMs;
      await it.clock.measure();
      assert.equal(it.clock.isRight(), false, `${aheadMs} ms`);
    }

    it.tripMs = 2;
    await it.clock.measure();
    assert.equal(it.clock.isRight(), true);
    assert.deepEqual(
      it.logged.map(({ level }) => level),
      ['error', 'info'],
    );
  });

  it('is never reported as off when no limit is set', async () => {
    const it = world({ maxSkewMs: 0 });
    it.aheadMs = DAYS_30;
    await it.clock.measure();

    assert.equal(it.clock.isRight(), true);
    assert.ok(Math.abs(it.clock.now() - it.database) <= 1);
  });

  it('continues while the database is unavailable, and is queried when the time is decisive', async () => {
    const it = world();
    await it.clock.measure();
    it.isAway = true;
    it.database += 60_000;
    it.steady += 60_000;

    assert.equal(await it.clock.measure(), false);
    assert.ok(Math.abs(it.clock.now() - it.database) <= 1);
    await assert.rejects(it.clock.read(), DatabaseUnavailableError);
  });

  it("wakes waiters when the machine's clock becomes wrong, and when it is right again", async () => {
    const it = world();
    const never = new AbortController().signal;
    const woken: string[] = [];
    const wrong = it.clock.waitUntil(false, never).then(() => woken.push('wrong'));
    await it.clock.measure();
    assert.equal(woken.length, 0);

    it.aheadMs = DAYS_30;
    await it.clock.measure();
    await wrong;
    const right = it.clock.waitUntil(true, never).then(() => woken.push('right'));
    it.aheadMs = 0;
    await it.clock.measure();
    await right;

    assert.deepEqual(woken, ['wrong', 'right']);
  });

  it('releases waiters that cancel', async () => {
    const stopping = new AbortController();
    const waiting = world().clock.waitUntil(false, stopping.signal);
    stopping.abort();
    await waiting;
  });
});

/** A worker whose clock becomes wrong and right again, while its activities continue. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDatabaseClock } from '../../src/database/database-clock.ts';
import type { DatabaseClock } from '../../src/database/database-clock.ts';
import type { Queryable } from '../../src/database/database.ts';
import { startClockGuardedWorker } from '../../src/processes/clock-guarded-worker.ts';
import type { RunningWorker } from '../../src/processes/worker.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const QUEUES = ['media', 'waiting'] as const;

/** Takes work until it is shut down, and then drains until the test ends it. */
class DrainingWorker implements RunningWorker {
  isShutDown = false;
  hasEnded = false;
  #resolve!: () => void;
  #reject!: (error: Error) => void;
  readonly finished = new Promise<void>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  running() {
    return new Map(QUEUES.map((queue) => [queue, !this.isShutDown && !this.hasEnded]));
  }

  shutdown(): void {
    assert.equal(this.hasEnded, false, 'a worker that has ended cannot be shut down');
    this.isShutDown = true;
  }

  end(): void {
    this.hasEnded = true;
    this.#resolve();
  }

  fail(message: string): void {
    this.hasEnded = true;
    this.#reject(new Error(message));
  }
}

/** A guarded worker, the workers that it has started, and its clock. */
async function guarded() {
  let aheadMs = 0;
  const clock: DatabaseClock = createDatabaseClock({
    database: { query: () => Promise.resolve([{ ms: NOW }]) } as unknown as Queryable,
    logger: silentLogger(),
    maxSkewMs: 10_000,
    systemClock: () => NOW + aheadMs,
    steadyClock: () => 0,
  });
  const started: DrainingWorker[] = [];
  const made = {
    started,
    failsToStart: false,
    hasFinished: false,
    failure: undefined as unknown,
    /** The worker that was started at this position, from 0. */
    at: (index: number): DrainingWorker => started[index] ?? assert.fail(`there is no worker ${index}`),
    async setAhead(ms: number): Promise<void> {
      aheadMs = ms;
      await clock.measure();
    },
    /** Makes the clock wrong for a moment, in which the newest worker is shut down. */
    async wrongForAMoment(): Promise<void> {
      const newest = made.at(started.length - 1);
      await made.setAhead(11_000);
      await waitFor('the worker takes no more work', () => newest.isShutDown);
      await made.setAhead(0);
    },
    waitForStarted: (count: number): Promise<void> => waitFor(`${count} were started`, () => started.length === count),
  };
  const worker = await startClockGuardedWorker({
    clock,
    queues: QUEUES,
    logger: silentLogger(),
    async start() {
      if (made.failsToStart) throw new Error('Temporal is away');
      const one = new DrainingWorker();
      started.push(one);
      return one;
    },
  });
  worker.finished.then(
    () => {
      made.hasFinished = true;
    },
    (error: unknown) => {
      made.hasFinished = true;
      made.failure = error;
    },
  );
  return Object.assign(made, { worker });
}

/** Everything that can happen immediately has happened. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('a worker that is guarded by its clock', () => {
  it('accepts work again as soon as its clock is right, while work in progress is still waited for', async () => {
    const { worker, at, wrongForAMoment, waitForStarted } = await guarded();

    await wrongForAMoment();
    await waitForStarted(2);

    assert.equal(at(0).hasEnded, false);
    assert.deepEqual(new Set(worker.running().values()), new Set([true]));
    at(0).end();
    await settled();
    assert.equal(at(1).isShutDown, false);
    worker.shutdown();
    at(1).end();
    await worker.finished;
  });

  it('serves no queue while its clock is wrong', async () => {
    const { worker, at, setAhead, started } = await guarded();

    await setAhead(-11_000);
    await waitFor('it has stopped', () => at(0).isShutDown);
    await settled();

    assert.equal(started.length, 1);
    assert.deepEqual(new Set(worker.running().values()), new Set([false]));
    at(0).end();
    worker.shutdown();
    await worker.finished;
  });

  it('ends when it is stopped once all that drain have ended', async () => {
    const made = await guarded();
    const { worker, at, wrongForAMoment, waitForStarted } = made;
    await wrongForAMoment();
    await waitForStarted(2);

    worker.shutdown();
    assert.equal(at(1).isShutDown, true);
    at(1).end();
    await settled();
    assert.equal(made.hasFinished, false);
    at(0).end();

    await worker.finished;
    assert.equal(made.started.length, 2);
  });

  it('waits for one that drains when there are three, and then accepts work', async () => {
    const { worker, started, at, wrongForAMoment, waitForStarted } = await guarded();
    for (const count of [2, 3, 4]) {
      await wrongForAMoment();
      await waitForStarted(Math.min(count, 3));
    }
    await settled();
    assert.equal(started.length, 3);

    at(1).end();
    await waitForStarted(4);

    assert.deepEqual(new Set(worker.running().values()), new Set([true]));
    worker.shutdown();
    for (const index of [0, 2, 3]) at(index).end();
    await worker.finished;
  });

  it('fails in order when one that drains fails', async () => {
    const made = await guarded();
    const { worker, at, wrongForAMoment, waitForStarted } = made;
    await wrongForAMoment();
    await waitForStarted(2);

    at(0).fail('it is stuck');
    await waitFor('the other one is shut down', () => at(1).isShutDown);
    assert.equal(made.hasFinished, false);
    at(1).end();

    await assert.rejects(worker.finished, /it is stuck/);
  });

  it('is started again when Temporal was unavailable', async () => {
    const made = await guarded();
    made.failsToStart = true;
    await made.wrongForAMoment();
    await settled();
    assert.equal(made.started.length, 1);

    made.failsToStart = false;
    await made.waitForStarted(2);

    made.at(0).end();
    made.worker.shutdown();
    made.at(1).end();
    await made.worker.finished;
  });
});

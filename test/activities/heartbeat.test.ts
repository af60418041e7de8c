/** When an activity sends heartbeats, and what they carry to its next attempt. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { currentAttempt, heartbeating } from '../../activities/heartbeat.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';

/** Of an attempt whose heartbeats are due every 3 s. */
const TIMEOUT_MS = 10_000;

interface AttemptOptions {
  readonly heartbeatDetails?: unknown;
  readonly attempt?: number;
  readonly heartbeatTimeoutMs?: number | undefined;
  readonly isLocal?: boolean;
}

/** Runs a function as one attempt of an activity. @param beats receives the details of its heartbeats. */
function inAttempt<T>(work: () => Promise<T>, beats: unknown[] = [], options: AttemptOptions = {}): Promise<T> {
  const attempt = {
    info: { taskToken: new Uint8Array([1]), isLocal: false, attempt: 1, heartbeatTimeoutMs: TIMEOUT_MS, ...options },
    cancellationSignal: new AbortController().signal,
    heartbeat: (details: unknown) => beats.push(details),
  } as unknown as Context;
  return asyncLocalStorage.run(attempt, work);
}

/** Work that takes this long by the mocked clock. */
const lasting = (milliseconds: number) => (): Promise<void> => {
  mock.timers.tick(milliseconds);
  return Promise.resolve();
};

beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
afterEach(() => mock.timers.reset());

describe('an activity', () => {
  for (const [what, milliseconds, options, count] of [
    ['no heartbeat before the first is due', 2_999, {}, 0],
    ['a heartbeat three times in each heartbeat time-out', 10_000, {}, 3],
    ['fewer with a longer time-out', 60_000, { heartbeatTimeoutMs: 180_000 }, 1],
    ['none without a time-out', 60_000, { heartbeatTimeoutMs: undefined }, 0],
    ['none as a local activity', 60_000, { isLocal: true }, 0],
  ] as const) {
    it(`sends ${what}`, async () => {
      const beats: unknown[] = [];

      await inAttempt(() => heartbeating(lasting(milliseconds)), beats, options);

      assert.equal(beats.length, count);
    });
  }

  it('sends none after its end', async () => {
    const beats: unknown[] = [];

    await inAttempt(() => heartbeating(() => Promise.resolve()), beats);
    mock.timers.tick(60_000);

    assert.deepEqual(beats, []);
  });
});

describe('details that an attempt attached to its heartbeats', () => {
  it('are not erased by the heartbeats of the next attempt', async () => {
    const beats: unknown[] = [];
    const details = { upstreamIndex: 1, rejections: 2 };

    await inAttempt(() => heartbeating(lasting(3_000)), beats, { heartbeatDetails: details });

    assert.deepEqual(beats, [details]);
  });

  it('are repeated by an attempt that failed early, when they record that nothing was sent', async () => {
    const beats: unknown[] = [];
    const fail = (): Promise<never> => Promise.reject(new DatabaseUnavailableError('it is still away'));
    const heartbeatDetails = { unsentBy: 1 };

    for (const attempt of [2, 3]) {
      await assert.rejects(
        inAttempt(() => heartbeating(fail), beats, { heartbeatDetails, attempt }),
        DatabaseUnavailableError,
      );
    }

    assert.deepEqual(beats, [{ unsentBy: 2 }]);
  });

  it('are erased when they are for the next attempt only', async () => {
    const beats: unknown[] = [];

    await inAttempt(() => heartbeating(lasting(3_000)), beats, { heartbeatDetails: { unsentBy: 1 }, attempt: 2 });

    assert.deepEqual(beats, [undefined]);
  });

  it('are repeated by the next heartbeats without one of their own', async () => {
    const beats: unknown[] = [];
    const announcement = { upstreamIndex: 0, rejections: 0 };
    const recordHeartbeat = (): Promise<boolean> => Promise.resolve(true);

    await inAttempt(
      () =>
        heartbeating(async () => {
          currentAttempt({ recordHeartbeat }).attach(announcement);
          assert.deepEqual(beats, []);
          await lasting(6_000)();
        }),
      beats,
    );

    assert.deepEqual(beats, [announcement, announcement]);
  });
});

/** What the heartbeats of an activity carry to its next attempt. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { currentAttempt, heartbeating } from '../../activities/heartbeat.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';

/** Runs a function as one attempt of an activity. @param beats the details of its heartbeats. */
function inAttempt<T>(
  work: () => Promise<T>,
  beats: unknown[] = [],
  heartbeatDetails?: unknown,
  number = 1,
): Promise<T> {
  const attempt = {
    info: { taskToken: new Uint8Array([1]), isLocal: false, heartbeatDetails, attempt: number },
    cancellationSignal: new AbortController().signal,
    heartbeat: (details: unknown) => beats.push(details),
  } as unknown as Context;
  return asyncLocalStorage.run(attempt, work);
}

describe('details that an attempt attached to its heartbeats', () => {
  it('are not erased by the heartbeats of the next attempt', async () => {
    const beats: unknown[] = [];
    const details = { place: 1, refusals: 2 };

    await inAttempt(() => heartbeating(() => Promise.resolve()), beats, details);

    assert.deepEqual(beats, [details]);
  });

  it('are repeated by an attempt that failed early, when they record that nothing was sent', async () => {
    const beats: unknown[] = [];
    const fail = (): Promise<never> => Promise.reject(new DatabaseUnavailableError('it is still away'));

    await assert.rejects(
      inAttempt(() => heartbeating(fail), beats, { unsentBy: 1 }, 2),
      DatabaseUnavailableError,
    );
    await assert.rejects(
      inAttempt(() => heartbeating(fail), beats, { unsentBy: 1 }, 3),
      DatabaseUnavailableError,
    );

    assert.deepEqual(beats, [undefined, { unsentBy: 2 }, undefined]);
  });

  it('are erased when they are for the next attempt only', async () => {
    const beats: unknown[] = [];

    await inAttempt(() => heartbeating(() => Promise.resolve()), beats, { unsentBy: 1 }, 2);

    assert.deepEqual(beats, [undefined]);
  });
});

describe('the first heartbeat of an attempt that announces its work', () => {
  it('does not go through the SDK, and is recorded before the announcement is sent', async () => {
    const beats: unknown[] = [];
    const recorded: unknown[] = [];
    let release = (): void => assert.fail('no heartbeat was sent');
    const recordHeartbeat = async (_token: Uint8Array, details: object | undefined): Promise<boolean> => {
      if (details === undefined) await new Promise<void>((resolve) => (release = resolve));
      recorded.push(details);
      return true;
    };
    const announcement = { place: 0, refusals: 0 };

    await inAttempt(
      () =>
        heartbeating(async () => {
          const announced = currentAttempt({ recordHeartbeat }).recordHeartbeat(announcement);
          await new Promise(setImmediate);
          assert.deepEqual(recorded, []);
          release();
          assert.equal(await announced, true);
        }, recordHeartbeat),
      beats,
    );

    assert.deepEqual([recorded, beats], [[undefined, announcement], []]);
  });

  it('does not prevent the announcement when it cannot be recorded', async () => {
    const recordHeartbeat = (_token: Uint8Array, details: object | undefined): Promise<boolean> =>
      details === undefined ? Promise.reject(new Error('no answer')) : Promise.resolve(true);

    await inAttempt(() =>
      heartbeating(async () => {
        assert.equal(await currentAttempt({ recordHeartbeat }).recordHeartbeat({}), true);
      }, recordHeartbeat),
    );
  });
});

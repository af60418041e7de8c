import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VARIABLES } from '../../src/config/variables.ts';
import { nextCallbackDelayMs, nextKeyAttemptMs } from '../../src/domain/callback-schedule.ts';

const HOUR_MS = 3_600_000;

function delays(offsets: readonly number[], retryAfterMs?: number): (number | undefined)[] {
  return offsets.map((_, index) => nextCallbackDelayMs(index + 1, offsets, retryAfterMs));
}

describe('the schedule of a callback', () => {
  // Proves C6-14.
  it('tries at 0, 1, 5 and 20 minutes after the first attempt, then gives up', () => {
    const offsets = VARIABLES['CALLBACK_OFFSETS_SECONDS']?.fallback?.split(',').map(Number) ?? [];

    assert.deepEqual(delays(offsets), [60_000, 240_000, 900_000, undefined]);
  });

  // Proves C6-15.
  it('waits as long as the receiver requests, at most an hour, and never shorter than scheduled', () => {
    assert.deepEqual(delays([0, 60], 90_000), [90_000, undefined]);
    assert.deepEqual(delays([0, 60], 5_000), [60_000, undefined]);
    assert.deepEqual(delays([0, 60], 24 * HOUR_MS), [HOUR_MS, undefined]);
  });

  it('has no attempt after its last, and none before its first', () => {
    assert.equal(nextCallbackDelayMs(5, [0, 60]), undefined);
    assert.equal(nextCallbackDelayMs(0, [0, 60]), undefined);
    assert.equal(nextCallbackDelayMs(1, []), undefined);
    assert.equal(nextCallbackDelayMs(1, [0]), undefined);
  });

  it('retries ever less often while a key is missing, up to a quarter of an hour', () => {
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 1_000].map(nextKeyAttemptMs),
      [60_000, 120_000, 240_000, 480_000, 900_000, 900_000, 900_000],
    );
  });

  it('retries immediately when two attempts are scheduled for the same time', () => {
    assert.deepEqual(delays([0, 0, 0]), [0, 0, undefined]);
  });
});

/** When callers come back that found no free share. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRetryDelays } from '../../src/generation/slots.ts';

const options = { firstMs: 1_000, longestMs: 10_000, perSecond: 100 };

describe('retries of requests that were denied a share', () => {
  it('happen after one to two seconds, and ever later, after ten at most', () => {
    const { delayMs } = createRetryDelays(options);

    for (const [attempt, least, most] of [
      [1, 1_000, 2_000],
      [2, 2_000, 4_000],
      [4, 5_000, 10_000],
      [1_000, 5_000, 10_000],
    ] as const) {
      const delay = delayMs('ac-one', attempt);
      assert.ok(delay >= least && delay <= most, `attempt ${attempt}: ${delay}`);
    }
  });

  it('are paced per second, however many they are', () => {
    const { delayMs } = createRetryDelays({ ...options, now: () => 0 });
    const delays = Array.from({ length: 5_000 }, () => delayMs('ac-one', 1));

    for (let from = 2_000; from < 50_000; from += 1_000) {
      const within = delays.filter((delay) => delay > from && delay <= from + 1_000).length;
      assert.ok(within <= 100, `${within} in the second after ${from} ms`);
    }
    assert.equal(Math.max(...delays), 50_000);
  });

  it('wait behind those of the same tenant, and not behind all that another tenant has', () => {
    let now = 0;
    const { delayMs } = createRetryDelays({ ...options, now: () => now });
    for (let count = 0; count < 5_000; count++) delayMs('ac-many', 1);

    assert.ok(delayMs('ac-few', 1) <= 2_000);

    now = 60_000;
    assert.ok(delayMs('ac-many', 1) <= 2_000, 'it is forgotten when the last has come back');
  });
});

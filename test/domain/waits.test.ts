/** How long to wait: the recommended poll interval, and `Retry-After` as providers and receivers of callbacks send it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseRetryAfterMs, secondsUntilNextPoll } from '../../src/domain/waits.ts';

const seconds = fc.double({ min: 0, max: 1e9, noNaN: true });

describe('the recommended poll interval', () => {
  it('ends when the model is usually done, for a task that is younger than that', () => {
    assert.equal(secondsUntilNextPoll(20, 0), 20);
    assert.equal(secondsUntilNextPoll(20, 12.2), 8);
    assert.equal(secondsUntilNextPoll(20, 19.9), 1);
  });

  it('grows with the age of a task that takes longer than usual', () => {
    const waits = [20, 50, 100, 200, 290].map((age) => secondsUntilNextPoll(20, age));

    assert.deepEqual(waits, [2, 5, 10, 20, 29]);
  });

  it('is a whole number of seconds, 1 to 30, for every task', () => {
    fc.assert(
      fc.property(seconds, seconds, (typical, age) => {
        const wait = secondsUntilNextPoll(typical, age);
        assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 30, String(wait));
      }),
    );
  });

  it('never shrinks while a late task gets older', () => {
    fc.assert(
      fc.property(seconds, seconds, seconds, (typical, late, later) => {
        const wait = secondsUntilNextPoll(typical, typical + late);
        assert.ok(secondsUntilNextPoll(typical, typical + late + later) >= wait);
      }),
    );
  });
});

const TEN_MINUTES_MS = 600_000;
const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

describe('Retry-After', () => {
  it('is read as seconds and as a date, never below 0 and never above its bound', () => {
    const cases: readonly (readonly [string, number])[] = [
      ['7', 7_000],
      ['0', 0],
      [' 1.5 ', 1_500],
      ['86400', 600_000],
      ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
      ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
      ['Sun, 22 Nov 2026 12:00:00 GMT', 600_000],
    ];
    for (const [header, waitMs] of cases) assert.equal(parseRetryAfterMs(header, NOW, TEN_MINUTES_MS), waitMs, header);
  });

  it('is nothing where it is absent or cannot be read', () => {
    for (const header of [undefined, '', 'soon', []])
      assert.equal(parseRetryAfterMs(header, NOW, TEN_MINUTES_MS), undefined);
  });
});

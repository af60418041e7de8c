import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { secondsUntilNextPoll } from '../../src/domain/waits.ts';

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

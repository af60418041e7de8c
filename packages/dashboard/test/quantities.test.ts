/** Sizes, durations and days formatted for people. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatBytes, formatMilliseconds, formatSeconds } from '../src/components/quantities.ts';
import { daysOf, eachDay, firstDayOf, isDay } from '../src/pages/usage/days.ts';

describe('a quantity', () => {
  it('of bytes has the unit in which it is below a thousand', () => {
    assert.deepEqual([0, 999, 1_000, 1_234_567, 999_999, 5e15].map(formatBytes), [
      '0 B',
      '999 B',
      '1.0 kB',
      '1.2 MB',
      '1.0 MB',
      '5000 TB',
    ]);
  });

  it('of time has its two largest units', () => {
    assert.deepEqual([0.25, 4, 59.7, 75, 7_300, 86_400, 90_000].map(formatSeconds), [
      '0.3 s',
      '4 s',
      '1 min',
      '1 min 15 s',
      '2 h 1 min',
      '1 d',
      '1 d 1 h',
    ]);
    assert.deepEqual([3.4, 1_200].map(formatMilliseconds), ['3 ms', '1.2 s']);
  });
});

describe('a day', () => {
  it('is one of the calendar, in the notation of the API', () => {
    assert.deepEqual(['2026-02-28', '2026-02-29', '2026-2-1', '0000-01-01', 'today'].filter(isDay), ['2026-02-28']);
  });

  it('begins and ends a period that includes both', () => {
    assert.equal(daysOf('2026-02-27', '2026-03-01'), 3);
    assert.deepEqual(eachDay('2026-02-27', '2026-03-01'), ['2026-02-27', '2026-02-28', '2026-03-01']);
    assert.deepEqual(eachDay('2026-03-01', '2026-02-27'), []);
    assert.equal(firstDayOf(7, Date.parse('2026-03-01T23:59:59Z')), '2026-02-23');
  });
});

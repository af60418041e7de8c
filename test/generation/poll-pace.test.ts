/** How often a job is polled. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPollPace } from '../../src/generation/poll-pace.ts';

function waits(times: number, askedForMs: number | undefined, isHeard: boolean): number[] {
  const pace = createPollPace();
  return Array.from({ length: times }, () => pace.next(askedForMs, isHeard));
}

describe('the poll interval of a job', () => {
  it('is short at first and 5 s in the end', () => {
    const all = waits(20, undefined, false);

    assert.equal(all[0], 500);
    assert.ok(all.every((wait, index) => wait >= (all[index - 1] ?? 0)));
    assert.equal(all.at(-1), 5_000);
    assert.ok(all.slice(0, 6).reduce((sum, wait) => sum + wait, 0) < 7_000, all.join());
  });

  it('is 15 s in the end when hooks are known to arrive, and 5 s again when they stop', () => {
    assert.equal(waits(20, undefined, true).at(-1), 15_000);
    const pace = createPollPace();
    for (let times = 0; times < 20; times++) pace.next(undefined, true);
    assert.equal(pace.next(undefined, false), 5_000);
  });

  it('is never shorter than the provider requests', () => {
    assert.deepEqual(waits(2, 60_000, false), [60_000, 60_000]);
    assert.deepEqual(waits(2, 1, false), [500, 650]);
  });

  it('ends after twenty invalid responses in a row, and not when one in between is valid', () => {
    const pace = createPollPace();
    const ends = (times: number): boolean[] => Array.from({ length: times }, () => pace.unreadable());

    assert.ok(!ends(19).includes(true));
    pace.readable();
    assert.deepEqual(ends(20).indexOf(true), 19);
  });
});

/** How the pace of a batch follows the time that its lines wait. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pace, createPaces } from '../../src/batches/pace.ts';

const SECOND = 1_000;
const MOST = 50;

/** A pace on a system whose lines wait as `waitOf` says for the number in progress, after some seconds. */
function paceAfter(
  seconds: number,
  waitOf: (lines: number, second: number) => number | null,
  workMs: number | null = 100,
): Pace {
  const pace = new Pace(0);
  for (let second = 1; second <= seconds; second++) {
    pace.use(pace.lines);
    const waitMs = waitOf(pace.lines, second);
    pace.adjust({ waitMs, workMs }, { now: second * SECOND, linesFed: second * 100, most: MOST });
  }
  return pace;
}

describe('the pace of a batch', () => {
  it('grows to what other rules allow while nothing waits, or no line for a start at all', () => {
    assert.equal(paceAfter(30, () => 30).lines, MOST);
    assert.equal(paceAfter(30, () => null, null).lines, MOST);
  });

  // Proves C10-22.
  it('stays near the number at which a queue begins', () => {
    // Eight at a time find no queue; each one more waits 100 ms longer.
    const { lines } = paceAfter(120, (inProgress) => 30 + 100 * Math.max(0, inProgress - 8));
    assert.ok(lines >= 4 && lines <= 10, `${lines} lines`);
  });

  it('does not yield for a wait that is short beside a generation', () => {
    const noisy = (_: number, second: number): number => (second % 2 === 0 ? 30 : 900);
    assert.equal(paceAfter(60, noisy, 30_000).lines, MOST);
    assert.ok(paceAfter(60, noisy).lines < 10);
  });

  it('yields to other work, down to one line, and comes back afterwards', () => {
    const busy = (_: number, second: number): number => (second > 30 && second <= 60 ? 2_000 : 30);
    assert.equal(paceAfter(30, busy).lines, MOST);
    assert.equal(paceAfter(60, busy).lines, 1);
    assert.equal(paceAfter(90, busy).lines, MOST);
  });

  it('accepts a system on which everything has become slower', () => {
    const slower = (_: number, second: number): number => (second > 30 ? 400 : 30);
    assert.equal(paceAfter(120, slower).lines, 1);
    assert.equal(paceAfter(30 + 650 + 60, slower).lines, MOST);
  });

  it('does not grow by what it does not use', () => {
    const pace = new Pace(0);
    for (let second = 1; second <= 60; second++) {
      pace.use(2);
      pace.adjust({ waitMs: 30, workMs: 100 }, { now: second * SECOND, linesFed: second, most: MOST });
    }
    assert.equal(pace.lines, 4);
  });

  it('looks only at lines that were fed since it shrank', () => {
    const pace = new Pace(0);
    pace.adjust({ waitMs: 30, workMs: 100 }, { now: 1 * SECOND, linesFed: 100, most: MOST });
    assert.equal(pace.firstSampled(100), 100 - 16);
    pace.adjust({ waitMs: 3_000, workMs: 100 }, { now: 2 * SECOND, linesFed: 200, most: MOST });
    assert.equal(pace.firstSampled(205), 200);
  });

  it('is remembered from step to step, and forgotten with its batch', () => {
    const paces = createPaces();
    const pace = paces.of('one');
    assert.equal(paces.of('one'), pace);
    assert.notEqual(paces.of('two'), pace);
    paces.delete('one');
    assert.notEqual(paces.of('one'), pace);
  });
});

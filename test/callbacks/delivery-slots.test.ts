/** How the slots of a worker are shared among accounts, by a clock of the test's own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDeliverySlots } from '../../src/callbacks/delivery-slots.ts';
import type { DeliverySlots } from '../../src/callbacks/delivery-slots.ts';

const SLOTS = 200;
const HANGING_MS = 10_000;

interface Clocked {
  readonly slots: DeliverySlots;
  advance(ms: number): void;
}

function clocked(): Clocked {
  let nowMs = 1_000;
  return {
    slots: createDeliverySlots({ slots: SLOTS, now: () => nowMs, random: () => 0.5 }),
    advance: (ms) => (nowMs += ms),
  };
}

/**
 * Takes as many as an account can get, at most the given number. @returns those taken, and the delays of the others.
 */
function takeAll(slots: DeliverySlots, accountId: string, atMost = SLOTS) {
  const taken: (() => void)[] = [];
  while (taken.length < atMost) {
    const answer = slots.take(accountId);
    if ('delayMs' in answer) return { taken, delayMs: answer.delayMs };
    taken.push(answer.release);
  }
  return { taken, delayMs: undefined };
}

describe('delivery slots', () => {
  it('are half of all for a single account, and the rest stay free for others', () => {
    const { slots } = clocked();

    assert.equal(takeAll(slots, 'hanging').taken.length, 100);
    assert.equal(takeAll(slots, 'second').taken.length, 50);
    assert.equal(takeAll(slots, 'third').taken.length, 25);
    for (let other = 0; other < 20; other++) takeAll(slots, `other-${other}`, 1);
    assert.equal(takeAll(slots, 'late', 1).taken.length, 1);
  });

  it('never exceed the total, even when one is released twice', () => {
    const { slots } = clocked();
    const { taken } = takeAll(slots, 'one');
    for (const release of taken) release();
    for (const release of taken) release();

    const again = takeAll(slots, 'one');

    assert.equal(again.taken.length, 100);
  });

  it('become free for an account as its own attempts end', () => {
    const { slots } = clocked();
    const { taken } = takeAll(slots, 'one');
    assert.ok('delayMs' in slots.take('one'));

    taken[0]?.();

    assert.ok('release' in slots.take('one'));
    assert.ok('delayMs' in slots.take('one'));
  });

  it('are retried one after the other, at the pace of the account, by attempts that found none', () => {
    const { slots, advance } = clocked();
    takeAll(slots, 'hanging');
    advance(HANGING_MS);

    const delays = Array.from({ length: 100 }, () => {
      const answer = slots.take('hanging');
      return 'delayMs' in answer ? answer.delayMs : assert.fail('a slot was free');
    });

    // 100 slots that are held for 10 s each: ten per second.
    assert.ok((delays[0] ?? 0) >= HANGING_MS);
    assert.deepEqual(
      delays,
      delays.toSorted((a, b) => a - b),
    );
    assert.ok(Math.abs((delays[99] ?? 0) - (delays[0] ?? 0) - 9_900) < 10);
  });

  it('make no attempt wait for more than a minute, nor all of them retry at the same moment', () => {
    const slots = createDeliverySlots({ slots: SLOTS, now: () => 1_000 });
    takeAll(slots, 'hanging');
    const delays = Array.from({ length: 200_000 }, () => {
      const answer = slots.take('hanging');
      return 'delayMs' in answer ? answer.delayMs : assert.fail('a slot was free');
    });

    assert.ok(Math.max(...delays.slice(-1_000)) <= 60_000);
    assert.ok(Math.min(...delays.slice(-1_000)) >= 30_000);
    assert.ok(new Set(delays.slice(-1_000)).size > 500);
  });

  it('add little delay to an account whose receivers are fast', () => {
    const { slots, advance } = clocked();
    for (let round = 0; round < 50; round++) {
      const { taken } = takeAll(slots, 'fast', 10);
      advance(20);
      for (const release of taken) release();
    }
    const { delayMs } = takeAll(slots, 'fast');

    assert.ok(delayMs !== undefined && delayMs <= 300, String(delayMs));
  });
});

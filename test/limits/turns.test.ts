/** Turns of the event loop: in order, with pauses, and never all of a process. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTurns } from '../../src/limits/turns.ts';

const PIECE_MS = 20;

function work(): void {
  const end = performance.now() + PIECE_MS;
  while (performance.now() < end);
}

describe('pieces of work that hold the event loop', () => {
  it('are done in the requested order, with turns of the loop between them', async () => {
    const turns = createTurns();
    const done: string[] = [];
    const others = setInterval(() => done.push('other'), 1);
    await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => {
        await turns.next();
        work();
        done.push(name);
      }),
    );
    clearInterval(others);

    assert.deepEqual(
      done.filter((name) => name !== 'other'),
      ['a', 'b', 'c', 'd'],
    );
    for (const [before, after] of ['ab', 'bc', 'cd'].map((pair) => [pair[0] ?? '', pair[1] ?? ''] as const)) {
      assert.ok(done.slice(done.indexOf(before), done.indexOf(after)).includes('other'), `${before} and ${after}`);
    }
  });

  it('are followed by a pause three times as long as they took', async () => {
    const turns = createTurns();
    const startedAt = performance.now();
    for (let piece = 0; piece < 5; piece++) {
      await turns.next();
      work();
    }

    // Four rests lie between them: timers are never early by more than a millisecond.
    assert.ok(performance.now() - startedAt >= (5 + 4 * 3) * PIECE_MS - 5);
  });

  it('that throw pass the turn to the next', async () => {
    const turns = createTurns();
    await assert.rejects(async () => {
      await turns.next();
      throw new Error('broken');
    });
    await turns.next();
  });
});

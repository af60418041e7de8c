import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { runTogether } from '../../src/processes/run-together.ts';

/** A worker that ends only when the test ends it. */
function controlled() {
  let end!: () => void;
  let reject!: (error: Error) => void;
  const finished = new Promise<void>((resolve, rejectWith) => {
    [end, reject] = [resolve, rejectWith];
  });
  let isAsked = false;
  return {
    finished,
    shutdown(): void {
      isAsked = true;
    },
    end: () => end(),
    fail: (message: string) => reject(new Error(message)),
    isAsked: () => isAsked,
  };
}

const NEVER = new Promise<never>(() => {});

/** Starts two workers. @returns them, and the outcome of running them. */
function start(stop: Promise<unknown> = NEVER) {
  const [own, former] = [controlled(), controlled()];
  let outcome: unknown = 'running';
  const run = runTogether([own, former], stop).then(
    () => {
      outcome = 'ended';
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  return { own, former, run, outcome: () => outcome };
}

describe('workers of one process', () => {
  for (const [what, failing, other] of [
    ['the former queues are served to their end where the own worker fails', 'own', 'former'],
    ['the own queues are served to their end where the worker of the former ones fails', 'former', 'own'],
  ] as const) {
    it(`are shut down together: ${what}`, async () => {
      const running = start();

      running[failing].fail('the namespace is not found');
      await nextTurn();

      assert.equal(running[other].isAsked(), true);
      assert.equal(running.outcome(), 'running');
      running[other].end();
      await running.run;
      assert.match(String(running.outcome()), /the namespace is not found/);
    });
  }

  it('are both waited for when one fails while it stops', async () => {
    const running = start(Promise.resolve('SIGTERM'));
    await nextTurn();
    assert.deepEqual([running.own.isAsked(), running.former.isAsked()], [true, true]);

    running.own.fail('it did not stop');
    await nextTurn();

    assert.equal(running.outcome(), 'running');
    running.former.end();
    await running.run;
    assert.match(String(running.outcome()), /it did not stop/);
  });

  it('end when both have stopped', async () => {
    const running = start(Promise.resolve('SIGTERM'));
    running.own.end();
    running.former.end();

    await running.run;

    assert.equal(running.outcome(), 'ended');
  });
});

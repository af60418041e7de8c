/**
 * When a poller polls: planned polls are moved forward only, and failed ones are repeated; and the law of the interval
 * between two polls of a feed (docs/decisions/0010).
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { createPollPace, createPoller } from '../../src/database/poller.ts';
import type { PollPace } from '../../src/database/poller.ts';
import { silentLogger } from '../../src/telemetry/log.ts';

describe('a poller', () => {
  let waitMs = 250;
  let polls = 0;

  function poller(isNeeded = () => true): ReturnType<typeof createPoller> {
    return createPoller({
      what: 'a table',
      poll: () => {
        polls += 1;
        return Promise.resolve();
      },
      isNeeded,
      waitMs: () => waitMs,
      logger: silentLogger(),
    });
  }

  beforeEach(() => {
    waitMs = 250;
    polls = 0;
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  afterEach(() => mock.timers.reset());

  it('moves a planned poll forward when the wait has become shorter', () => {
    const own = poller();
    own.schedule();
    mock.timers.tick(100);
    waitMs = 25;
    own.schedule();

    mock.timers.tick(24);
    assert.equal(polls, 0);
    mock.timers.tick(1);
    assert.equal(polls, 1);
    mock.timers.tick(1_000);
    assert.equal(polls, 1, 'the poll that was planned first is dropped');
  });

  it('never moves one back, however often it is scheduled', () => {
    const own = poller();
    waitMs = 25;
    own.schedule();
    waitMs = 250;
    for (let time = 0; time < 5; time++) {
      mock.timers.tick(5);
      own.schedule();
    }

    assert.equal(polls, 1);
  });

  it('plans nothing while it is not needed, and drops what is planned when it stops', () => {
    const unneeded = poller(() => false);
    unneeded.schedule();
    const stopped = poller();
    stopped.schedule();
    stopped.stop();

    mock.timers.tick(10_000);

    assert.equal(polls, 0);
  });
});

/** A pace and the duration of its polls by a clock of its own. */
function pace(): { readonly pace: PollPace; poll(tookMs: number): Promise<void> } {
  let at = 0;
  const own = createPollPace(() => at);
  return {
    pace: own,
    poll: (tookMs) =>
      own.timed(() => {
        at += tookMs;
        return Promise.resolve();
      }),
  };
}

/** The waits before polls that find nothing. */
async function waitsOf({ pace: own, poll }: ReturnType<typeof pace>, polls: number, watched = 1): Promise<number[]> {
  const waits: number[] = [];
  for (let count = 0; count < polls; count++) {
    waits.push(Math.round(own.waitMs(watched)));
    await poll(0);
  }
  return waits;
}

describe('the pace of a feed', () => {
  it('is fast once something has happened, and slows down while nothing happens', async () => {
    const own = pace();
    assert.equal(own.pace.waitMs(1), 250);

    own.pace.happened();

    assert.deepEqual(await waitsOf(own, 9), [25, 38, 56, 84, 127, 190, 250, 250, 250]);
  });

  it('is fast again after a poll that found something', async () => {
    const own = pace();
    own.pace.happened();
    await waitsOf(own, 9);

    await own.pace.timed(() => {
      own.pace.happened();
      return Promise.resolve();
    });

    assert.equal(own.pace.waitMs(1), 25);
  });

  it('is the slower the more is watched, and four polls a second from 32 on, whatever happens', async () => {
    const own = pace();
    own.pace.happened();

    assert.deepEqual(
      [1, 3, 4, 16, 31, 32, 10_000].map((watched) => own.pace.waitMs(watched)),
      [25, 25, 32, 128, 248, 250, 250],
    );
  });

  it('leaves a connection alone for ten times as long as a poll took, also one that failed', async () => {
    const own = pace();
    const waits: number[] = [];
    for (const tookMs of [2, 10, 20, 500]) {
      await own.poll(tookMs);
      own.pace.happened();
      waits.push(own.pace.waitMs(1));
    }
    assert.deepEqual(waits, [25, 100, 200, 250]);
    await own.poll(0);

    let at = 0;
    const failing = createPollPace(() => at);
    const poll = (): Promise<void> => {
      at += 10;
      return Promise.reject(new Error('the database is not available'));
    };
    await assert.rejects(failing.timed(poll), /not available/);
    failing.happened();

    assert.equal(failing.waitMs(1), 100);
  });

  it('costs six polls for each thing that happens, beside the four a second', async () => {
    const own = pace();
    let polls = 0;
    // For a minute, a reader begins to wait or gets something once a second.
    for (let second = 0; second < 60; second++) {
      own.pace.happened();
      for (let at = own.pace.waitMs(1); at < 1_000; at += own.pace.waitMs(1)) {
        polls += 1;
        await own.poll(0);
      }
    }

    assert.ok(polls <= 60 * (4 + 6), `${polls} polls a minute`);
    assert.ok(polls >= 60 * 6, `${polls} polls a minute`);
  });
});

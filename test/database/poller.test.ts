/** When a poller polls: planned polls are moved forward only, and failed ones are repeated. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { createPoller } from '../../src/database/poller.ts';
import { silentLogger } from '../../src/telemetry/log.ts';

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

describe('a poller', () => {
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

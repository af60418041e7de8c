/** The wait for a condition. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GIVE_UP_MS, waitFor } from '../src/wait-for.ts';

describe('waitFor', () => {
  it('checks until the condition holds, and no more', async () => {
    let checks = 0;

    await waitFor(
      'the third check',
      async () => {
        checks += 1;
        return checks === 3;
      },
      1,
    );

    assert.equal(checks, 3);
  });

  it('throws what the condition throws', async () => {
    await assert.rejects(
      waitFor('nothing', () => {
        throw new Error('it failed');
      }),
      /it failed/,
    );
  });

  it('says what it waited for when it gives up', async (test) => {
    test.mock.timers.enable({ apis: ['Date'] });

    const waiting = waitFor(
      () => 'the output is persistent',
      () => {
        test.mock.timers.tick(GIVE_UP_MS);
        return false;
      },
      1,
    );

    await assert.rejects(waiting, /timed out after 1200 s waiting for: the output is persistent/);
  });
});

/** A process whose start blocks its event loop for longer than requests may, as on a busy machine, is not ended for it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Blocks once, for longer than the limit, where an api has read its settings and does not listen yet. */
const BLOCK_BEFORE_LISTENING = `
import { Server } from 'node:net';
const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  Server.prototype.listen = listen;
  const until = performance.now() + 20_000;
  while (performance.now() < until);
  return listen.apply(this, args);
};`;

describe('an api whose start blocks its event loop', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom({
      workers: 0,
      environment: {
        HANG_SECONDS: '8',
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(BLOCK_BEFORE_LISTENING)}`,
      },
    });
  });
  after(() => darkroom.stop());

  it('starts, and serves', async () => {
    const { client } = await darkroom.createAccount();

    // Only the database knows that there is no such task, and a busy machine may let a request to it time out.
    await waitFor('it serves', async () => (await client.get('tk-svc-00000000000000000000000001')).status === 404);
    assert.equal(darkroom.apis[0]?.hasEndedByItself, false);
  });
});

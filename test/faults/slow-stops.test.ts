/**
 * An upstream that accepts stop requests and does not respond to them: those of one account delay neither another
 * account's requests nor its settlements (src/generation/slots.ts).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** One more than a worker has slots for stop requests, and once had for all short work. */
const MANY = 41;
/** An account's share of them. */
const SHARE = 12;
/**
 * How long a request keeps its part of the share at least. It is given up nine seconds after its attempt began
 * (activities/media-task.ts), and sent when the database has answered the attempt, which may take a while.
 */
const KEPT_AT_LEAST_MS = 4_500;

describe('stop requests without a response', () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
  });
  after(() => outside.stop());

  it("leave slots to another account's, which is billed, and to settlements", async () => {
    const [hostile, other] = [await outside.darkroom.createAccount(), await outside.darkroom.createAccount()];
    const silent: string[] = [];
    for (let count = 0; count < MANY; count++) {
      const input = { prompt: `a boat ${count} [slow 300000] [silent-cancel]` };
      silent.push(await outside.create(hostile, { model: 'test/tasks', input }));
    }
    const asked = async (kind: 'submit' | 'cancel'): Promise<number> =>
      (await outside.providerLog('a boat')).filter((line) => line.kind === kind).length;
    await waitFor('all are under way', async () => (await asked('submit')) === MANY);
    const billed = await outside.create(other, {
      model: 'test/tasks',
      input: { prompt: 'a pier [slow 300000] [bills 0.004]' },
    });
    await outside.waitForProvider('a pier', 'submit');

    const cancelledAt = performance.now();
    await Promise.all(silent.map((taskId) => hostile.client.send('POST', `/v1/tasks/${taskId}/cancel`)));
    await waitFor('the account has its share', async () => (await asked('cancel')) >= SHARE);
    await other.client.send('POST', `/v1/tasks/${billed}/cancel`);
    const task = await other.client.waitForTerminal(billed);
    const made = await outside.create(other, { model: 'test/replicate', input: { prompt: 'a lighthouse' } });
    assert.equal((await other.client.waitForTerminal(made)).status, 'success');

    assert.equal(task.error?.reason, 'cancelled');
    assert.equal(task.billing.captured, '0.004');
    // Without a share all 41 would have been sent at once, and again every nine seconds.
    const stops = await asked('cancel');
    const rounds = 1 + Math.floor((performance.now() - cancelledAt) / KEPT_AT_LEAST_MS);
    assert.ok(stops <= rounds * SHARE, `${stops} were sent in ${rounds} rounds`);
  });
});

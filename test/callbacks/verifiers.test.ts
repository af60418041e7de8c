/**
 * The callbacks that a receiver got, checked with the verifier that the authors of Standard Webhooks publish: it
 * accepts ours, and rejects those that were altered, replayed or signed with another key.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import type { ReceivedCallback } from '../support/callback-receiver.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';

/** How old or how far in the future a timestamp may be for the verifier. */
const TOLERANCE_MS = 5 * 60_000;

describe('the published verifier of Standard Webhooks', () => {
  let outside: DarkroomWithUpstreams;
  let account: TestAccount;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
    account = await outside.darkroom.createAccount();
  });
  after(() => outside.stop());

  const PATH = '/v1/account/webhook-key';
  async function key(method: 'POST' | 'PUT', path: string, body?: unknown): Promise<string> {
    const answer = await account.client.send(method, path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return (answer.body.data as unknown as WireWebhookKey).whsec ?? assert.fail('no key');
  }

  async function called(): Promise<{ callback: ReceivedCallback; headers: Record<string, string>; taskId: string }> {
    const taskId = await outside.create(account, {
      model: 'test/openai',
      // Not ASCII, so that signing characters instead of bytes is detected.
      input: { prompt: 'a boat' },
      metadata: { note: 'grün ✓' },
      callback: { url: `${outside.receiver.url}/ok/verified` },
    });
    const [callback] = await outside.waitForCalledBack(taskId);
    assert.ok(callback);
    return { callback, headers: callback.headers as Record<string, string>, taskId };
  }

  const assertRejected = (secret: string, body: string, headers: Record<string, string>, why: RegExp): void =>
    assert.throws(() => new Webhook(secret).verify(body, headers), { name: 'WebhookVerificationError', message: why });

  it('accepts our deliveries, signed with a generated secret and with one of the account’s own', async () => {
    for (const secret of [
      await key('POST', `${PATH}/rotate`),
      await key('PUT', PATH, { secret: 'a secret of the receiver, with ü' }),
    ]) {
      const { callback, headers, taskId } = await called();

      const verified = new Webhook(secret).verify(callback.body, headers) as { taskId: string };

      assert.equal(verified.taskId, taskId);
    }
  });

  it('accepts them with the old secret and the new one during a rotation', async () => {
    const before = await key('POST', `${PATH}/rotate`);
    const replaced = await key('POST', `${PATH}/rotate`);
    const { callback, headers } = await called();

    for (const secret of [before, replaced]) new Webhook(secret).verify(callback.body, headers);
  });

  it('rejects an altered body, id or time, a wrong secret, and a missing signature', async () => {
    const secret = await key('POST', `${PATH}/rotate`);
    const { callback, headers } = await called();
    const { body } = callback;
    const later = String(Number(headers['webhook-timestamp']) + 1);
    const other = new Webhook(`whsec_${Buffer.from('x'.repeat(32)).toString('base64')}`);

    assertRejected(secret, body.replace('success', 'suckess'), headers, /No matching signature/);
    assertRejected(secret, `${body} `, headers, /No matching signature/);
    assertRejected(secret, body, { ...headers, 'webhook-id': `${headers['webhook-id']}0` }, /No matching signature/);
    assertRejected(secret, body, { ...headers, 'webhook-timestamp': later }, /No matching signature/);
    assert.throws(() => other.verify(body, headers), /No matching signature/);
    const { 'webhook-signature': _, ...unsigned } = headers;
    assertRejected(secret, body, unsigned, /Missing required headers/);
    new Webhook(secret).verify(body, headers);
  });

  it('rejects a delivery that is replayed later, and one from the future', async (t) => {
    const secret = await key('POST', `${PATH}/rotate`);
    const { callback, headers } = await called();
    const sentAt = Number(headers['webhook-timestamp']) * 1000;

    t.mock.timers.enable({ apis: ['Date'], now: sentAt + TOLERANCE_MS - 1_000 });
    new Webhook(secret).verify(callback.body, headers);
    t.mock.timers.setTime(sentAt + TOLERANCE_MS + 2_000);
    assertRejected(secret, callback.body, headers, /timestamp too old/);
    t.mock.timers.reset();
    t.mock.timers.enable({ apis: ['Date'], now: sentAt - TOLERANCE_MS - 2_000 });
    assertRejected(secret, callback.body, headers, /timestamp too new/);
  });
});

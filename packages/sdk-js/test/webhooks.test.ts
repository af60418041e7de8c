/** Deliveries as the library of Standard Webhooks signs them. Ours are verified by test/wide/sdk-js.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { WebhookVerificationError, webhooks } from '../src/index.ts';

const TEXT = 'a secret of at least 16 characters';
const WHSEC = `whsec_${Buffer.from(TEXT).toString('base64')}`;
const BODY = JSON.stringify({
  taskId: 'tk-svc-00000000000000000000000000',
  status: 'success',
  metadata: { a: 'grün ✓' },
});

function headersOf(body = BODY, at = new Date()): Record<string, string> {
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(WHSEC).sign('msg_1', at, body),
  };
}

const rejectedAs = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof WebhookVerificationError);
  assert.match(error.message, message);
  return true;
};

describe('a delivery', () => {
  it('is accepted in each form, with the secret in either spelling', async () => {
    const headers = headersOf();
    const bytes = new TextEncoder().encode(BODY);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    const deliveries = [
      { headers, body: BODY },
      { headers: upper, body: bytes },
      { headers: new Headers(headers), body: bytes.buffer },
      new Request('https://example.com', { method: 'POST', headers, body: BODY }),
    ];
    for (const delivery of deliveries) {
      const copy = delivery instanceof Request ? delivery.clone() : delivery;
      assert.equal((await webhooks.verify(delivery, TEXT)).status, 'success');
      assert.equal((await webhooks.verify(copy, WHSEC)).status, 'success');
    }
  });

  it('is accepted with either of two signatures, as while a secret is replaced', async () => {
    const headers = headersOf();
    const signature = `v1,${Buffer.alloc(32).toString('base64')} v1a,abc ${headers['webhook-signature']}`;
    const task = await webhooks.verify({ headers: { ...headers, 'webhook-signature': signature }, body: BODY }, TEXT);
    assert.equal(task.metadata?.['a'], 'grün ✓');
  });

  it('is accepted with a secret of its own that begins like the other form', async () => {
    const odd = 'whsec_not base64 at all';
    const headers = headersOf();
    const signed = new Webhook(Buffer.from(odd).toString('base64')).sign('msg_1', new Date(), BODY);
    const delivery = { headers: { ...headers, 'webhook-signature': signed }, body: BODY };
    assert.equal((await webhooks.verify(delivery, odd)).status, 'success');
  });

  it('is rejected when it was altered, or signed with another secret', async () => {
    const headers = headersOf();
    const changes = [
      { headers, body: BODY.replace('success', 'suckess') },
      { headers: { ...headers, 'webhook-id': 'msg_2' }, body: BODY },
      { headers: { ...headers, 'webhook-signature': 'v1,' }, body: BODY },
      { headers: { ...headers, 'webhook-signature': 'v1,***' }, body: BODY },
      { headers: { ...headers, 'webhook-signature': headers['webhook-signature']?.replace('v1,', 'v2,') }, body: BODY },
    ];
    for (const delivery of changes)
      await assert.rejects(webhooks.verify(delivery, TEXT), rejectedAs(/not one of this/));
    await assert.rejects(webhooks.verify({ headers, body: BODY }, `${TEXT}!`), rejectedAs(/not one of this secret/));
  });

  it('is rejected when it is old, from the future, or without a time', async () => {
    for (const seconds of [-301, 301]) {
      const headers = headersOf(BODY, new Date(Date.now() + seconds * 1000));
      await assert.rejects(webhooks.verify({ headers, body: BODY }, TEXT), rejectedAs(/30\d s from now/));
      assert.ok(await webhooks.verify({ headers, body: BODY }, TEXT, { toleranceSeconds: 600 }));
    }
    const headers = { ...headersOf(), 'webhook-timestamp': 'now' };
    await assert.rejects(webhooks.verify({ headers, body: BODY }, TEXT), rejectedAs(/is not a time/));
  });

  it('is rejected without a header, by its name', async () => {
    for (const name of Object.keys(headersOf())) {
      const headers = { ...headersOf(), [name]: undefined };
      await assert.rejects(webhooks.verify({ headers, body: BODY }, TEXT), rejectedAs(new RegExp(name)));
    }
  });

  it('cannot be verified without a secret, or after it was parsed', async () => {
    await assert.rejects(webhooks.verify({ headers: headersOf(), body: BODY }, ''), TypeError);
    // As untyped programs do it.
    const parsed = { headers: headersOf(), body: JSON.parse(BODY) as string };
    await assert.rejects(webhooks.verify(parsed, TEXT), /is not the raw body/);
  });
});

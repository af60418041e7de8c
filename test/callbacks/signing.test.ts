import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { newWebhookSecret, signCallback, standardSignature, toWhsec } from '../../src/callbacks/signing.ts';

/** Signatures below were computed with another implementation of HMAC (Python's hmac). Not ASCII on purpose. */
const CURRENT = '0123456789abcdef-secret-ä';
const PREVIOUS = 'previous-secret-of-16+';
const CALLBACK = {
  taskId: 'tk-svc-01J9Z3N8Q4W5E6R7T8Y9A0B1C2',
  timestampSeconds: 1_760_000_000,
  body: '{"taskId":"tk-svc-01J9Z3N8Q4W5E6R7T8Y9A0B1C2","note":"ü"}',
  headerPrefix: 'X-Darkroom',
} as const;
const CURRENT_HEX = '63501622a6ed3b766be2ca48d6bc1563878ac6d379a6414015c9aa9945b1f217';
const CURRENT_BASE64 = 'y4ChqaNJB4ZlpmV7iUC3SBHiabBIopJXhVdW8fsEY6M=';
const PREVIOUS_HEX = 'aa1e43e0a774ae7804f831a7fd6c205bbd77ba8fd5786265d13217e4696ca78b';
const PREVIOUS_BASE64 = 'FdtRD6wR/T7/xpzXwCdbZZ4P/95ngOXKpSZ/kejFjeE=';

describe('signing a callback', () => {
  // Proves C6-2.
  it('signs timestamp and body in hex, and id, timestamp and body as Standard Webhooks do', () => {
    assert.deepEqual(signCallback({ ...CALLBACK, secrets: [CURRENT] }), {
      'X-Darkroom-Timestamp': '1760000000',
      'X-Darkroom-Signature': CURRENT_HEX,
      'webhook-id': 'msg_tk-svc-01J9Z3N8Q4W5E6R7T8Y9A0B1C2',
      'webhook-timestamp': '1760000000',
      'webhook-signature': `v1,${CURRENT_BASE64}`,
    });
  });

  it('signs with both secrets during rotation, and keeps the own header a single value of the current one', () => {
    const headers = signCallback({ ...CALLBACK, secrets: [CURRENT, PREVIOUS] });

    assert.equal(headers['X-Darkroom-Signature'], CURRENT_HEX);
    assert.equal(headers['X-Darkroom-Signature-Previous'], PREVIOUS_HEX);
    assert.equal(headers['webhook-signature'], `v1,${CURRENT_BASE64} v1,${PREVIOUS_BASE64}`);
  });

  it('sends no signature headers when the account has no secret', () => {
    assert.deepEqual(signCallback({ ...CALLBACK, secrets: [] }), {});
  });

  // Proves C6-3.
  it('names its headers by the configured prefix', () => {
    const headers = signCallback({ ...CALLBACK, headerPrefix: 'X-Acme', secrets: [CURRENT, PREVIOUS] });

    const own = Object.keys(headers).filter((name) => !name.startsWith('webhook-'));
    assert.deepEqual(own, ['X-Acme-Timestamp', 'X-Acme-Signature', 'X-Acme-Signature-Previous']);
  });

  // Proves S6.5-1, C6-5.
  it('produces the signature that the Standard Webhooks libraries publish for their example', () => {
    const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');

    assert.equal(
      standardSignature(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}'),
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  // Proves S6.5-1, C6-6.
  it('is verified by a receiver that decodes the whsec_ spelling, as those libraries do', () => {
    const spelling = toWhsec(CURRENT);
    const headers = signCallback({ ...CALLBACK, secrets: [PREVIOUS, CURRENT] });

    const key = Buffer.from(spelling.slice('whsec_'.length), 'base64');
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${CALLBACK.body}`;
    const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    assert.equal(spelling, 'whsec_MDEyMzQ1Njc4OWFiY2RlZi1zZWNyZXQtw6Q=');
    assert.ok(headers['webhook-signature']?.split(' ').includes(expected));
  });

  // Proves C6-8.
  it('creates secrets of 43 base64url characters that never repeat', () => {
    const secrets = Array.from({ length: 100 }, newWebhookSecret);

    assert.ok(secrets.every((secret) => /^[\w-]{43}$/.test(secret)));
    assert.equal(new Set(secrets).size, 100);
  });
});

/** The signatures of providers, made by code that is not ours. */
import assert from 'node:assert/strict';
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { Verify } from '../../../src/providers/hooks/hook-rules.ts';
import { createHookVerifier } from '../../../src/providers/hooks/verify-hook.ts';
import { createSecretSource } from '../../../src/upstreams/secrets.ts';

const NOW_MS = Date.parse('2027-03-01T12:00:00Z');
const NOW = NOW_MS / 1_000;
const KEY = Buffer.alloc(24, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(24, 8).toString('base64');
const BODY = '{"id":"job-1","status":"succeeded","output":"ü"}';

interface Call {
  readonly headers: IncomingHttpHeaders;
  readonly body?: string | Buffer;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly derived?: readonly string[];
  readonly keys?: readonly (readonly KeyObject[])[];
}

/** @returns what is wrong with a call; undefined: it is verified. */
async function faultOf(verify: Verify, { headers, body = BODY, secrets = {}, derived = [], keys = [[]] }: Call) {
  const [known = [], renewed] = keys;
  const verifier = createHookVerifier({
    secrets: createSecretSource(secrets),
    keys: { get: () => Promise.resolve(known), renew: () => Promise.resolve(renewed) },
  });
  const begun = verifier.begin(verify, { headers, nowMs: NOW_MS, derivedSecrets: () => derived });
  if (typeof begun === 'string') return begun;
  const bytes = Buffer.from(body);
  // In two pieces, the second of which begins inside a character.
  begun.update(bytes.subarray(0, bytes.length - 4));
  begun.update(bytes.subarray(bytes.length - 4));
  return begun.finish();
}

describe('a webhook signed as Standard Webhooks describe', () => {
  const VERIFY: Verify = { scheme: 'standard-webhooks', secret: 'replicate_hooks' };
  const SECRETS = { REPLICATE_HOOKS: `whsec_${KEY}\n` };

  const headersOf = (key = KEY, at = NOW, body = BODY): Record<string, string> => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at),
    'webhook-signature': new Webhook(key).sign('msg_1', new Date(at * 1_000), body),
  });

  it('is accepted, and accepted again, with the secret in both spellings', async () => {
    for (const secret of [`whsec_${KEY}`, KEY]) {
      const call = { headers: headersOf(), secrets: { REPLICATE_HOOKS: secret } };
      assert.equal(await faultOf(VERIFY, call), undefined);
      assert.equal(await faultOf(VERIFY, call), undefined);
    }
  });

  it('is accepted with one right signature among several, of whatever version the others are', async () => {
    const { 'webhook-signature': right, ...headers } = headersOf();
    const { 'webhook-signature': wrong } = headersOf(OTHER_KEY);
    for (const list of [`${wrong} ${right}`, `v1a,AAAA ${right} ${wrong}`]) {
      const call = { headers: { ...headers, 'webhook-signature': list }, secrets: SECRETS };
      assert.equal(await faultOf(VERIFY, call), undefined, list);
    }
  });

  it('is accepted within five minutes in both directions, and not beyond', async () => {
    for (const at of [NOW - 300, NOW + 300]) {
      assert.equal(await faultOf(VERIFY, { headers: headersOf(KEY, at), secrets: SECRETS }), undefined);
    }
    for (const at of [NOW - 301, NOW + 301, 0]) {
      assert.equal(await faultOf(VERIFY, { headers: headersOf(KEY, at), secrets: SECRETS }), 'too_old');
    }
  });

  it('is rejected with another key, body, id or time', async () => {
    const changed: readonly Call[] = [
      { headers: headersOf(OTHER_KEY) },
      { headers: headersOf(), body: `${BODY} ` },
      { headers: headersOf(), body: '' },
      { headers: { ...headersOf(), 'webhook-id': 'msg_2' } },
      { headers: { ...headersOf(), 'webhook-timestamp': String(NOW + 1) } },
    ];
    for (const call of changed) assert.equal(await faultOf(VERIFY, { ...call, secrets: SECRETS }), 'wrong_signature');
  });

  it('is rejected without a complete signature', async () => {
    for (const name of Object.keys(headersOf())) {
      const headers: IncomingHttpHeaders = headersOf();
      delete headers[name];
      assert.equal(await faultOf(VERIFY, { headers, secrets: SECRETS }), 'unsigned', name);
    }
    const malformed = [
      { 'webhook-signature': 'v1,' },
      { 'webhook-signature': 'v1a,AAAA' },
      { 'webhook-signature': 'v1,not_base64' },
      { 'webhook-timestamp': '1e9' },
      { 'webhook-id': 'ü' },
    ];
    for (const each of malformed) {
      assert.equal(await faultOf(VERIFY, { headers: { ...headersOf(), ...each }, secrets: SECRETS }), 'unsigned');
    }
  });

  it('is rejected while its secret is missing or malformed', async () => {
    assert.equal(await faultOf(VERIFY, { headers: headersOf() }), 'no_secret');
    const secrets = { REPLICATE_HOOKS: 'whsec_not base64' };
    assert.equal(await faultOf(VERIFY, { headers: headersOf(), secrets }), 'malformed_secret');
  });
});

describe('a webhook with an HMAC of its body', () => {
  const VERIFY: Verify = { scheme: 'hmac-sha256', header: 'X-BFL-Signature', prefix: 'sha256=' };
  const signatureOf = (secret: string, encoding: 'hex' | 'base64' = 'hex'): string =>
    createHmac('sha256', secret).update(BODY).digest(encoding);

  it('is accepted with any secret that the provider may have been given for the task', async () => {
    for (const secret of ['first', 'second']) {
      const headers = { 'x-bfl-signature': `sha256=${signatureOf(secret)}` };
      assert.equal(await faultOf(VERIFY, { headers, derived: ['first', 'second'] }), undefined);
      assert.equal(await faultOf(VERIFY, { headers, derived: ['third'] }), 'wrong_signature');
    }
  });

  it('is accepted with the credential that the model file names, and not with a derived secret', async () => {
    const verify: Verify = { scheme: 'hmac-sha256', header: 'x-sign', encoding: 'base64', secret: 'acme' };
    const call = { secrets: { ACME: 'the secret' }, derived: ['derived'] };

    assert.equal(
      await faultOf(verify, { ...call, headers: { 'x-sign': signatureOf('the secret', 'base64') } }),
      undefined,
    );
    const derived = { 'x-sign': signatureOf('derived', 'base64') };
    assert.equal(await faultOf(verify, { ...call, headers: derived }), 'wrong_signature');
    assert.equal(await faultOf(verify, { headers: derived, derived: ['derived'] }), 'no_secret');
  });

  it('is rejected without a signature of that form', async () => {
    const signature = signatureOf('first');
    for (const value of [undefined, signature, 'sha256=', `sha256=${signature}0`, `sha256=${'zz'.repeat(32)}`]) {
      const headers = value === undefined ? {} : { 'x-bfl-signature': value };
      assert.equal(await faultOf(VERIFY, { headers, derived: ['first'] }), 'unsigned');
    }
    const short = { 'x-bfl-signature': `sha256=${signature.slice(2)}` };
    assert.equal(await faultOf(VERIFY, { headers: short, derived: ['first'] }), 'wrong_signature');
  });
});

describe('a webhook of fal', () => {
  const VERIFY: Verify = { scheme: 'fal-ed25519' };
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { publicKey: otherKey } = generateKeyPairSync('ed25519');

  const headersOf = (at = NOW, body = BODY): Record<string, string> => {
    const hash = createHash('sha256').update(body).digest('hex');
    const message = `request-1\nuser-1\n${at}\n${hash}`;
    return {
      'x-fal-webhook-request-id': 'request-1',
      'x-fal-webhook-user-id': 'user-1',
      'x-fal-webhook-timestamp': String(at),
      'x-fal-webhook-signature': sign(null, Buffer.from(message), privateKey).toString('hex'),
    };
  };

  it('is accepted with any key of the set, and with one that is new in it', async () => {
    assert.equal(await faultOf(VERIFY, { headers: headersOf(), keys: [[otherKey, publicKey]] }), undefined);
    assert.equal(await faultOf(VERIFY, { headers: headersOf(), keys: [[otherKey], [publicKey]] }), undefined);
  });

  it('is rejected with another key, body, request, user or time', async () => {
    const changed: readonly Call[] = [
      { headers: headersOf(), keys: [[otherKey]] },
      { headers: headersOf(), keys: [[otherKey], [otherKey]] },
      { headers: headersOf(), body: '{}' },
      { headers: { ...headersOf(), 'x-fal-webhook-request-id': 'request-2' } },
      { headers: { ...headersOf(), 'x-fal-webhook-user-id': 'user-2' } },
      { headers: { ...headersOf(), 'x-fal-webhook-timestamp': String(NOW - 1) } },
    ];
    for (const call of changed) {
      assert.equal(await faultOf(VERIFY, { keys: [[publicKey]], ...call }), 'wrong_signature');
    }
  });

  it('is rejected when it is old, incomplete, or when there are no keys', async () => {
    assert.equal(await faultOf(VERIFY, { headers: headersOf(NOW - 301), keys: [[publicKey]] }), 'too_old');
    for (const name of Object.keys(headersOf())) {
      const headers: IncomingHttpHeaders = headersOf();
      delete headers[name];
      assert.equal(await faultOf(VERIFY, { headers, keys: [[publicKey]] }), 'unsigned', name);
    }
    assert.equal(await faultOf(VERIFY, { headers: headersOf() }), 'no_keys');
  });
});

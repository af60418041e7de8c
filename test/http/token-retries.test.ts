/**
 * Repeated requests of short-lived tokens whose responses contain what was made: a token that may not read tasks gets
 * the results of its own requests, and not those of its key or of its key's other tokens.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { raw } from './raw-request.ts';
import { imageBody } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const RETRY = { 'X-Stainless-Retry-Count': '1' };

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

async function tokenWith(...scopes: readonly string[]): Promise<string> {
  const { body } = await account.client.send('POST', '/v1/tokens', { scopes });
  return (body.data as unknown as { token: string }).token;
}

async function post(path: string, secret: string, body: object, headers: Record<string, string> = {}) {
  const all = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json', ...headers };
  return raw(served.url, 'POST', path, all, Buffer.from(JSON.stringify(body)));
}

/** @returns the id of the task that the response is about. */
async function generate(secret: string, headers: Record<string, string> = {}): Promise<string> {
  const asynchronous = { Prefer: 'respond-async', ...headers };
  const answer = await post('/v1/images/generations', secret, imageBody(), asynchronous);
  return String(answer.headers['x-darkroom-task-id'] ?? answer.text);
}

describe('an automatic retry of a token', () => {
  it('finds the task of its own request only', async () => {
    const [one, other] = [await tokenWith('tasks:write'), await tokenWith('tasks:write')];
    const ofKey = await generate(account.client.key);
    const first = await generate(one, RETRY);

    const retried = await generate(one, RETRY);
    const ofOther = await generate(other, RETRY);

    assert.equal(retried, first);
    assert.equal(new Set([ofKey, first, ofOther]).size, 3);
    assert.equal(await generate(account.client.key, RETRY), ofKey);
  });

  it('finds the task of its key if the token may read it', async () => {
    const reader = await tokenWith('tasks:write', 'tasks:read');
    await served.room.rows('DELETE FROM awaited_responses');
    const ofKey = await generate(account.client.key);
    assert.equal(await generate(reader, RETRY), ofKey);
  });

  it('finds the response in the background of its own request only', async () => {
    const [one, other] = [await tokenWith('text:write'), await tokenWith('text:write')];
    const body = { model: 'acme/text', input: 'Hello?', background: true };
    const create = async (secret: string): Promise<string> => {
      const { text } = await post('/v1/responses', secret, body, RETRY);
      return (JSON.parse(text) as { id: string }).id;
    };
    const [ofKey, first] = [await create(account.client.key), await create(one)];

    assert.equal(await create(one), first);
    assert.equal(new Set([ofKey, first, await create(other)]).size, 3);
  });
});

describe('an Idempotency-Key of a token', () => {
  it('returns the task of its own request only', async () => {
    const [one, other] = [await tokenWith('tasks:write'), await tokenWith('tasks:write')];
    const key = { 'Idempotency-Key': 'an-order' };
    const first = await generate(one, key);

    assert.equal(await generate(one, key), first);
    const asynchronous = { Prefer: 'respond-async', ...key };
    const rejected = await post('/v1/images/generations', other, imageBody(), asynchronous);
    assert.equal(rejected.status, 422, rejected.text);
    assert.ok(!rejected.text.includes(first));
    assert.match(rejected.text, /was used with a different request body or by another credential/);
  });

  it('is not said to have another body at a response in the background that its key has created', async () => {
    const token = await tokenWith('text:write');
    const body = { model: 'acme/text', input: 'Hello?', background: true };
    const key = { 'Idempotency-Key': 'a-question' };
    assert.equal((await post('/v1/responses', account.client.key, body, key)).status, 200);

    const ofToken = await post('/v1/responses', token, body, key);
    assert.equal(ofToken.status, 422, ofToken.text);
    assert.match(ofToken.text, /by another credential/);
    const ofKey = await post('/v1/responses', account.client.key, { ...body, input: 'Hi?' }, key);
    assert.equal(ofKey.status, 422, ofKey.text);
    assert.doesNotMatch(ofKey.text, /another credential/);
  });
});

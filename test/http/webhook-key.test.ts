/** `/v1/account/webhook-key`: the signing secret over HTTP, and a test delivery to a receiver that really listens. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { WireTask } from '@darkroom/api/tasks/task';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import type { ApiClient } from '../support/api-client.ts';
import type { Answer } from './account-client.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

const PATH = '/v1/account/webhook-key';
const START = Date.parse('2027-03-01T12:00:00Z');
const SECRET = 'a secret of ours, ümlaut 🦊';

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Responds with the status in its path; what it receives is stored. */
function startReceiver(received: Received[]): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      received.push({ method, url, headers, body: Buffer.concat(chunks).toString('utf8') });
      if (url === '/cut') response.destroy();
      else response.writeHead(Number(url?.slice(1)), { Location: '/200' }).end('its own words');
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const received: Received[] = [];
let receiver: Server;
let receiverUrl: string;
let served: ServedApp;
let nowMs = START;
before(async () => {
  receiver = await startReceiver(received);
  receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  served = await serveApp({ now: () => nowMs, environment: { EGRESS_ALLOW: receiverUrl } });
});
after(async () => {
  await served.close();
  receiver.closeAllConnections();
  receiver.close();
});

async function ask<Data = WireWebhookKey>(
  client: ApiClient,
  method: string,
  path = '',
  sent?: unknown,
): Promise<Answer<Data>> {
  const answer = await client.send(method, `${PATH}${path}`, sent);
  const { error_code: code, message, data } = answer.body;
  return { status: answer.status, code, message, data: data as unknown as Data };
}

describe('the signing secret', () => {
  // Proves S5.5-1, C6-6, C7-25.
  it('is none at first, then the one that was set, in both spellings', async () => {
    const { client } = await served.newAccount();
    assert.deepEqual((await ask(client, 'GET')).data, { hasKey: false });

    const set = await ask(client, 'PUT', '', { secret: SECRET });

    assert.deepEqual(set.data, {
      hasKey: true,
      secret: SECRET,
      whsec: `whsec_${Buffer.from(SECRET).toString('base64')}`,
      created: Math.floor(nowMs / 1000),
      previousExpires: 0,
    });
    assert.deepEqual((await ask(client, 'GET')).data, set.data);
  });

  // Proves C7-25.
  it('is rotated to a generated one, beside which the previous one signs for a day', async () => {
    const { client } = await served.newAccount();
    await ask(client, 'PUT', '', { secret: SECRET });

    const rotated = await ask(client, 'POST', '/rotate');

    assert.match(rotated.data.secret ?? '', /^[\w-]{43}$/);
    assert.equal(rotated.data.previousExpires, Math.floor(nowMs / 1000) + 86_400);
    assert.deepEqual((await ask(client, 'GET')).data, rotated.data);
    nowMs += 86_400_000;
    assert.deepEqual((await ask(client, 'GET')).data, { ...rotated.data, previousExpires: 0 });
  });

  it('is created by rotating when there was none', async () => {
    const { client } = await served.newAccount();

    const rotated = await ask(client, 'POST', '/rotate');

    assert.deepEqual([rotated.data.hasKey, rotated.data.previousExpires], [true, 0]);
  });

  // Proves C7-25.
  it('that is deleted is gone, together with the previous one; deleting none is the same', async () => {
    const { client } = await served.newAccount();
    await ask(client, 'PUT', '', { secret: SECRET });
    await ask(client, 'POST', '/rotate');

    for (let times = 0; times < 2; times++) {
      assert.deepEqual((await ask(client, 'DELETE')).data, { hasKey: false });
    }
    assert.deepEqual((await ask(client, 'GET')).data, { hasKey: false });
  });

  it('is hidden from other accounts', async () => {
    const [owner, other] = [await served.newAccount(), await served.newAccount()];
    await ask(owner.client, 'PUT', '', { secret: SECRET });

    assert.deepEqual((await ask(other.client, 'GET')).data, { hasKey: false });
  });

  // Proves C6-8.
  it('is rejected when it is not a text of 16 to 256 characters that can be stored, and is not echoed', async () => {
    const { client } = await served.newAccount();
    for (const [sent, message] of [
      [{}, /^invalid request: missing property: secret$/],
      [{ secret: null }, /^invalid request: secret: type: got null, want string$/],
      [{ secret: 1 }, /^invalid request: secret: type: got integer, want string$/],
      [{ secret: '' }, /^invalid request: secret: minLength: got 0, want 16$/],
      [{ secret: 'x'.repeat(15) }, /^invalid request: secret: minLength: got 15, want 16$/],
      [{ secret: '🦊'.repeat(257) }, /^invalid request: secret: maxLength: got 257, want 256$/],
      [{ secret: `${'x'.repeat(20)}\0` }, /^invalid request: secret: must not contain U\+0000 or half/],
      [{ secret: `${'x'.repeat(20)}\ud83d` }, /^invalid request: secret: must not contain U\+0000 or half/],
      [{ secret: SECRET, created: 1 }, /^additional properties not allowed: created$/],
      [[SECRET], /^invalid request: type: got array, want object$/],
    ] as const) {
      const answer = await ask(client, 'PUT', '', sent);
      assert.deepEqual([answer.status, answer.code], [400, 'INVALID_REQUEST'], JSON.stringify(sent));
      assert.match(answer.message, message);
      assert.ok(!answer.message.includes('xxx'));
    }
    assert.deepEqual((await ask(client, 'GET')).data, { hasKey: false });
    for (const secret of ['x'.repeat(16), '🦊'.repeat(256)]) {
      assert.equal((await ask(client, 'PUT', '', { secret })).data.secret, secret);
    }
  });
});

interface Delivery {
  readonly delivered: boolean;
  readonly status: number;
  readonly durationMs: number;
  readonly errorClass?: string;
  readonly signed: boolean;
}

describe('a test delivery', () => {
  // Proves C7-26.
  it('is a task detail, signed with the secret and during a rotation with the previous one too', async () => {
    const { client } = await served.newAccount();
    await ask(client, 'PUT', '', { secret: SECRET });
    const rotated = await ask(client, 'POST', '/rotate');

    const answer = await ask<Delivery>(client, 'POST', '/test', { url: `${receiverUrl}/204` });

    assert.equal(answer.status, 200);
    const { durationMs, ...result } = answer.data;
    assert.deepEqual(result, { delivered: true, status: 204, signed: true });
    assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
    const came = received.at(-1);
    assert.ok(came);
    assert.deepEqual([came.method, came.headers['content-type']], ['POST', 'application/json']);
    const task = JSON.parse(came.body) as WireTask;
    assert.match(task.taskId, /^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/);
    assert.deepEqual([task.status, task.metadata, task.output?.length], ['success', { test: 'true' }, 1]);
    const timestamp = String(Math.floor(nowMs / 1000));
    const hex = (secret: string): string =>
      createHmac('sha256', secret).update(`${timestamp}.${came.body}`).digest('hex');
    assert.equal(came.headers['x-darkroom-timestamp'], timestamp);
    assert.equal(came.headers['x-darkroom-signature'], hex(rotated.data.secret ?? ''));
    assert.equal(came.headers['x-darkroom-signature-previous'], hex(SECRET));
    assert.equal(came.headers['webhook-id'], `msg_${task.taskId}`);
    // There is no such task.
    assert.equal((await client.get(task.taskId)).status, 404);
  });

  it('is not signed when the account has no secret, and reports that', async () => {
    const { client } = await served.newAccount();

    const answer = await ask<Delivery>(client, 'POST', '/test', { url: `${receiverUrl}/200` });

    assert.deepEqual([answer.data.delivered, answer.data.signed], [true, false]);
    const names = Object.keys(received.at(-1)?.headers ?? {});
    assert.deepEqual(
      names.filter((name) => /^(x-darkroom|webhook)-/.test(name)),
      [],
    );
  });

  // Proves C6-20.
  it('reports its result, follows no redirect and shows nothing of the response', async () => {
    const { client } = await served.newAccount();
    for (const status of [500, 404, 410, 302]) {
      const before = received.length;
      const answer = await ask<Delivery>(client, 'POST', '/test', { url: `${receiverUrl}/${status}` });
      assert.deepEqual([answer.status, answer.data.delivered, answer.data.status], [200, false, status]);
      assert.ok(!JSON.stringify(answer).includes('its own words'));
      assert.equal(received.length, before + 1);
    }
    const cut = await ask<Delivery>(client, 'POST', '/test', { url: `${receiverUrl}/cut` });
    assert.deepEqual([cut.data.delivered, cut.data.status, cut.data.errorClass], [false, 0, 'unreachable']);
  });

  it('is not sent to an address that is forbidden for callbacks', async () => {
    const { client } = await served.newAccount();
    for (const [sent, message] of [
      [{}, /^invalid request: missing property: url$/],
      [{ url: '' }, /^invalid request: url: minLength: got 0, want 1$/],
      [{ url: 'x' }, /^invalid request: url: must be an absolute https URL$/],
      [{ url: ['https://example.com'] }, /^invalid request: url: type: got array, want string$/],
      [{ url: 'https://127.0.0.1/' }, /^invalid request: url: 127\.0\.0\.1 is not a public address/],
      [{ url: 'https://169.254.169.254/' }, /^invalid request: url: 169\.254\.169\.254 is not a public address/],
      [{ url: 'https://user:pass@example.com/' }, /^invalid request: url: must not contain user information$/],
      [{ url: 'http://example.com/' }, /^invalid request: url: must be https/],
      [{ url: 'https://example.com:22/' }, /^invalid request: url: port 22 is not allowed/],
      [{ url: `https://example.com/${'x'.repeat(2_048)}` }, /^invalid request: url: maxLength: /],
      [{ url: 'https://example.com/', secret: 'x' }, /^additional properties not allowed: secret$/],
    ] as const) {
      const answer = await ask(client, 'POST', '/test', sent);
      assert.deepEqual([answer.status, answer.code], [400, 'INVALID_REQUEST'], JSON.stringify(sent));
      assert.match(answer.message, message);
    }
  });
});

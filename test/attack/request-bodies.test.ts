/**
 * Bodies designed to take memory or time: half-sent, by the dozen, of a million small values, or endless. Each uses
 * its sender's own share, and no other client's.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { body } from '../tasks/task-room.ts';
import { errorOf, raw } from '../http/raw-request.ts';
import { open } from '../http/raw-socket.ts';
import type { Client } from '../http/raw-socket.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { liveBuffers } from '../support/live-buffers.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { longestPause } from './event-loop.ts';

const MB = 1_000_000;
/** The minimum that can be configured: 64 MB in flight, 16 of them for one account; and 100 MB per minute. */
const environment = { BODY_MB_IN_FLIGHT: '64', BODY_MB_PER_MINUTE: '100', MAX_CONNECTIONS_PER_ADDRESS: '0' };
const ACCOUNT_IN_FLIGHT = 16 * MB;

let served: ServedApp;
before(async () => {
  served = await serveApp({ environment });
});
after(() => served.close());

function headersOf({ client }: ServedAccount, more: Record<string, string> = {}): Record<string, string> {
  return { authorization: `Bearer ${client.key}`, 'content-type': 'application/json', ...more };
}

/** Starts a request on a socket. @param length as announced; absent: in chunks. */
function begin(path: string, headers: Record<string, string>, length?: number): Client {
  const client = open(served.url);
  const all = {
    host: 'x',
    ...headers,
    ...(length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }),
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  client.socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
  return client;
}

async function bytesHeld(): Promise<number> {
  const metric = await served.http.metrics.registry.getSingleMetric('darkroom_share_units_in_use')?.get();
  return metric?.values.find(({ labels }) => labels['resource'] === 'request_bytes')?.value ?? Number.NaN;
}

async function answered(client: Client, what: string): Promise<string> {
  await waitFor(what, () => client.heard().includes('\r\n\r\n') || client.isClosed());
  return client.heard();
}

const estimate = (account: ServedAccount, sent: string | Buffer) =>
  raw(served.url, 'POST', '/v1/tasks/estimate', headersOf(account), sent);

describe('request bodies that never end', () => {
  it('occupy no more memory than the limit of their account, and none of other accounts', async () => {
    const [hostile, other] = [await served.newAccount(), await served.newAccount()];
    // Without a length they are charged as they arrive.
    const clients = Array.from({ length: 60 }, () => begin('/v1/tasks', headersOf(hostile)));
    const chunk = `${(500_000).toString(16)}\r\n${'{"a":"'.padEnd(500_000, 'A')}\r\n`;
    for (const client of clients) client.socket.write(chunk);
    await waitFor('each is held or rejected', async () => {
      const rejected = clients.filter((client) => client.heard().includes(' 429 ')).length;
      return rejected > 0 && (await bytesHeld()) + rejected * 500_000 > 29 * MB;
    });

    assert.ok((await bytesHeld()) <= ACCOUNT_IN_FLIGHT, `${await bytesHeld()} bytes are held`);
    const rejected = clients.find((client) => client.heard().includes(' 429 ')) ?? assert.fail();
    assert.match(rejected.heard(), /^HTTP\/1\.1 429 [^]*Retry-After: \d+[^]*"error_code":"RATE_LIMITED"/i);
    const large = JSON.stringify(body({ input: { prompt: 'x' } }));
    const created = await raw(served.url, 'POST', '/v1/tasks', headersOf(other), large);
    assert.equal(created.status, 200);

    for (const client of clients) client.socket.destroy();
    await waitFor('everything is given back', async () => (await bytesHeld()) === 0);
    assert.equal((await raw(served.url, 'POST', '/v1/tasks', headersOf(hostile), large)).status, 200);
  });

  it('of addresses without an account occupy no more than the limit of an address', async () => {
    const headers = { 'content-type': 'application/json', 'x-darkroom-dashboard': '1' };
    const clients = Array.from({ length: 20 }, () => begin('/session', headers, 250_000));
    for (const client of clients) client.socket.write('{"key":"'.padEnd(240_000, 'A'));
    await waitFor('some are rejected', () => clients.some((client) => client.heard() !== ''));

    assert.ok((await bytesHeld()) <= 2 * MB);
    assert.match(clients.find((client) => client.heard() !== '')?.heard() ?? '', /^HTTP\/1\.1 429 /);
    for (const client of clients) client.socket.destroy();
    await waitFor('everything is given back', async () => (await bytesHeld()) === 0);
  });
});

describe('a body in chunks of one byte', () => {
  const CHUNKS = 60_000;

  it('is held in a few buffers, and all memory that it occupies is counted', async () => {
    const account = await served.newAccount();
    const client = begin('/v1/tasks', headersOf(account));
    client.socket.write('6\r\n{"a":"\r\n');
    await waitFor('it has begun', async () => (await bytesHeld()) > 0);
    const before = liveBuffers();

    client.socket.write('1\r\nx\r\n'.repeat(CHUNKS));
    await waitFor('all of it is held', async () => (await bytesHeld()) >= CHUNKS);

    const more = liveBuffers() - before;
    assert.ok(more < 100, `${more} buffers more`);
    assert.ok((await bytesHeld()) <= 2 * CHUNKS, `${await bytesHeld()} bytes are held`);
    client.socket.destroy();
    await waitFor('everything is given back', async () => (await bytesHeld()) === 0);
  });

  it('is read like any other', async () => {
    const account = await served.newAccount();
    const client = begin('/v1/tasks/estimate', headersOf(account));
    const chunks = [...JSON.stringify(body())].map((character) => `1\r\n${character}\r\n`);
    client.socket.write(`${chunks.join('')}0\r\n\r\n`);

    assert.match(await answered(client, 'an answer'), /^HTTP\/1\.1 200 /);
    client.socket.destroy();
  });
});

describe('the byte limit per minute', () => {
  it('is charged before bytes are read, for estimates too, and an account over its limit gets 429', async () => {
    const account = await served.newAccount();
    const announced = Array.from({ length: 12 }, () => begin('/v1/tasks/estimate', headersOf(account), 9 * MB));
    await waitFor('what is beyond them is rejected', () => announced.some((client) => client.heard() !== ''));

    const heard = announced.find((client) => client.heard() !== '')?.heard() ?? '';
    assert.match(heard, /^HTTP\/1\.1 429 [^]*Retry-After: \d+[^]*too many bytes/i);
    assert.equal(await bytesHeld(), 0);
    for (const client of announced) client.socket.destroy();
    // Another account has its own budget.
    assert.equal((await estimate(await served.newAccount(), JSON.stringify(body()))).status, 200);
  });

  it('is charged by values when a body has more of them than its bytes suggest', async () => {
    const account = await served.newAccount();
    const many = JSON.stringify({ ...body(), metadata: [Array(22_000).fill(1), Array(22_000).fill(1)] });
    assert.equal((await estimate(account, many)).status, 200);
    let sent = many.length;
    // However slow the machine is: each counts as 4.4 MB, and the account gets 1.7 MB more per second.
    await waitFor('an account that has none left is rejected', async () => {
      sent += many.length;
      return (await estimate(account, many)).status === 429;
    });

    assert.ok(sent < 50 * MB, `${sent} bytes were sent`);
  });
});

describe('JSON with too many parts', () => {
  const rejected: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
    levels: [`{"a":${'['.repeat(100)}`, /nested deeper than 32 levels/],
    members: [`{${Array.from({ length: 10_001 }, (_, index) => `"a${index}":1`).join(',')}`, /more than 10000 members/],
    elements: [`[${'1,'.repeat(25_001)}`, /more than 25000 elements/],
    names: [
      `{"a":{${Array.from({ length: 9_000 }, (_, index) => `"${index}${'k'.repeat(120)}":1`).join(',')}}`,
      /more than 1000000 bytes of member names/,
    ],
    values: [`[${`[${'1,'.repeat(20_000)}1],`.repeat(3)}`, /more than 50000 values/],
  };

  for (const [what, [text, message]] of Object.entries(rejected)) {
    it(`(${what}) is rejected with 400 as soon as it is detected, before the rest has arrived`, async () => {
      const account = await served.newAccount();
      const client = begin('/v1/tasks', headersOf(account), text.length + MB);
      client.socket.write(text);

      assert.match(await answered(client, 'an answer'), /^HTTP\/1\.1 400 [^]*INVALID_REQUEST/);
      assert.match(client.heard(), message);
      client.socket.destroy();
    });
  }

  it('delays no other request, and an image of ten megabytes is one value', async () => {
    const account = await served.newAccount();
    const objects = Array.from({ length: 12_000 }, (_, index) => `{"a${index % 5_000}":1,"b${index}":2}`);
    const { pauseMs } = await longestPause(() => estimate(account, `[${objects.join(',')}]`));
    const image = JSON.stringify(
      body({ input: { prompt: 'x', image: `data:image/png;base64,${'A'.repeat(9_900_000)}` } }),
    );

    assert.ok(pauseMs < 2_000, `${pauseMs} ms`);
    // It arrived and was validated: the error is about its content.
    assert.notDeepEqual(errorOfStatus(await estimate(account, image)), 'JSON');
  });
});

function errorOfStatus(answer: Awaited<ReturnType<typeof estimate>>): string {
  if (answer.status === 200) return 'none';
  return errorOf(answer).status === 400 && answer.text.includes('JSON') ? 'JSON' : `${answer.status}`;
}

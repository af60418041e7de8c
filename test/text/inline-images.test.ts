/**
 * Images by URL with `TEXT_IMAGES=inline`: they are fetched here, within limits, and the upstream receives them
 * inside the request, from both endpoints.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import sharp from 'sharp';
import { MAX_INLINED } from '../../src/text/images.ts';
import { loadTokenizer } from '../../src/text/tokens.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedApp } from '../http/serve.ts';
import type { ApiClient } from '../support/api-client.ts';
import { startTestUpstream } from './upstream/test-upstream.ts';
import type { TestUpstream } from './upstream/test-upstream.ts';
import { openaiUpstream } from './upstream/upstream-bench.ts';

describe('images by URL that are fetched for the upstream', () => {
  let upstream: TestUpstream;
  let served: ServedApp;
  let imageServer: Server;
  let base: string;
  let png: Buffer;
  let asked: string[] = [];
  /** How many requests had reached the upstream before the test. */
  let earlier = 0;
  before(async () => {
    await loadTokenizer();
    png = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
    imageServer = createServer((request, response) => {
      asked.push(request.url ?? '');
      if (request.url === '/page') response.setHeader('content-type', 'image/png').end('<!doctype html><p>no image');
      else if (request.url === '/large') response.end(Buffer.concat([png, Buffer.alloc(MAX_INLINED.bytes)]));
      else if (request.url?.startsWith('/half') === true)
        response.end(Buffer.concat([png, Buffer.alloc(MAX_INLINED.bytes * 0.6)]));
      else if (request.url === '/gone') response.writeHead(404).end();
      else response.end(png);
    });
    await new Promise<void>((resolve) => {
      imageServer.listen(0, '127.0.0.1', resolve);
    });
    base = `http://127.0.0.1:${(imageServer.address() as AddressInfo).port}`;
    upstream = await startTestUpstream();
    served = await serveApp({
      models: [textDefinition({ name: 'acme/eyes', upstreams: [openaiUpstream(upstream.baseUrl, { id: 'eyes' })] })],
      environment: { TEXT_IMAGES: 'inline', EGRESS_ALLOW: base },
    });
  });
  beforeEach(() => {
    asked = [];
    earlier = upstream.requests.length;
  });
  after(async () => {
    await served?.close();
    await upstream?.close();
    imageServer?.closeAllConnections();
    imageServer?.close();
  });

  const chat = (client: ApiClient, urls: readonly string[]) =>
    client.send('POST', '/v1/chat/completions', {
      model: 'acme/eyes',
      messages: [{ role: 'user', content: urls.map((url) => ({ type: 'image_url', image_url: { url } })) }],
    });

  it('are sent as data URLs, each fetched once', async () => {
    const { client } = await served.newAccount();

    const answer = await chat(client, [`${base}/a.png`, `${base}/a.png`]);

    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(asked, ['/a.png']);
    const sent = JSON.stringify(upstream.requests[earlier]?.body);
    assert.equal(sent.split(`data:image/png;base64,${png.toString('base64')}`).length, 3, sent.slice(0, 500));
    assert.ok(!sent.includes(base));
  });

  it('are sent in responses too, also those of the stored conversation, which keeps the URLs', async () => {
    const { client } = await served.newAccount();
    const content = [{ type: 'input_image', image_url: `${base}/b.png`, detail: 'auto' }];
    const first = await client.send('POST', '/v1/responses', {
      model: 'acme/eyes',
      input: [{ role: 'user', content }],
    });
    const { id } = first.body as unknown as { id: string };
    const second = await client.send('POST', '/v1/responses', {
      model: 'acme/eyes',
      input: 'And now?',
      previous_response_id: id,
    });
    const items = await client.send('GET', `/v1/responses/${id}/input_items`);

    assert.deepEqual([first.status, second.status], [200, 200], JSON.stringify([first.body, second.body]));
    assert.deepEqual(asked, ['/b.png', '/b.png']);
    for (const { body } of upstream.requests.slice(earlier)) assert.ok(!JSON.stringify(body).includes(base));
    assert.ok(JSON.stringify(items.body).includes(`${base}/b.png`));
  });

  for (const [path, problem] of [
    ['/page', /does not lead to a PNG, JPEG, WebP or GIF image/],
    ['/large', /has more than 20000000 bytes/],
    ['/gone', /could not be fetched/],
  ] as const) {
    it(`are rejected by their field when the URL responds as ${path} does, and no upstream is called`, async () => {
      const { client } = await served.newAccount();

      const { status, body } = await chat(client, [`${base}/a.png`, base + path]);

      assert.equal(status, 400);
      assert.match(body.message, /messages\.0\.content\.1\.image_url\.url: /);
      assert.match(body.message, problem);
      assert.equal(upstream.requests.length, earlier);
    });
  }

  it('are limited together, in bytes and in number', async () => {
    const { client } = await served.newAccount();

    const heavy = await chat(client, [`${base}/half`, `${base}/half?2`]);
    const many = await chat(
      client,
      Array.from({ length: MAX_INLINED.images + 1 }, (_, index) => `${base}/${index}.png`),
    );

    assert.equal(heavy.status, 400);
    assert.match(heavy.body.message, /more than 20000000 bytes together/);
    assert.equal(many.status, 400);
    assert.match(many.body.message, /at most 50 images by URL/);
    assert.equal(upstream.requests.length, earlier);
  });
});

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { mediaResponse } from '../../src/objects/urls/media-response.ts';
import type { MediaRequest, MediaResponse } from '../../src/objects/urls/media-response.ts';
import { ObjectNotFoundError } from '../../src/objects/stores/object-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';

const BYTES = randomBytes(1000);
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
const ETAG = `"${SHA256}"`;
const NOON = Date.UTC(2026, 10, 21, 12, 0, 0);

describe('the response to a download', () => {
  let directory: string;
  let store: ObjectStore;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'media-response-'));
    store = createDiskStore(directory);
    await store.put('one', BYTES, { mimeType: 'image/png' });
  });
  after(() => rm(directory, { recursive: true }));

  async function ask(
    headers: IncomingHttpHeaders = {},
    change: Partial<MediaRequest> = {},
  ): Promise<MediaResponse & { bytes: Buffer }> {
    const answer = await mediaResponse({
      store,
      key: 'one',
      method: 'GET',
      headers,
      sizeBytes: BYTES.length,
      mimeType: 'image/png',
      sha256: SHA256,
      fileName: 'tk-svc-01-1.png',
      expireAt: NOON / 1000 + 1800,
      now: () => NOON,
      ...change,
    });
    return { ...answer, bytes: await collect(answer.body) };
  }

  it('is the whole object with its type, length, tag, name and guards', async () => {
    const { status, headers, bytes } = await ask();

    assert.equal(status, 200);
    assert.deepEqual(bytes, BYTES);
    assert.deepEqual(headers, {
      ETag: ETAG,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private, max-age=1800',
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Content-Type': 'image/png',
      'Content-Disposition': 'inline; filename="tk-svc-01-1.png"',
      'Content-Length': '1000',
    });
  });

  it('has the same headers and no body for HEAD, with a Range or without', async () => {
    const get = await ask();

    for (const headers of [{}, { range: 'bytes=0-9' }]) {
      const head = await ask(headers, { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.body, undefined);
      assert.deepEqual(head.headers, get.headers);
    }
  });

  const satisfiable: [range: string, start: number, end: number][] = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, 999],
    ['bytes=10-19', 10, 19],
    ['bytes=999-', 999, 999],
    ['bytes=990-99999', 990, 999],
    ['bytes=-1', 999, 999],
    ['bytes=-1000', 0, 999],
    ['bytes=-5000', 0, 999],
    ['BYTES=1-2', 1, 2],
  ];
  for (const [range, start, end] of satisfiable) {
    it(`is the part ${start}-${end} for ${range}`, async () => {
      const { status, headers, bytes } = await ask({ range });

      assert.equal(status, 206);
      assert.equal(headers['Content-Range'], `bytes ${start}-${end}/1000`);
      assert.equal(headers['Content-Length'], String(end - start + 1));
      assert.deepEqual(bytes, BYTES.subarray(start, end + 1));
    });
  }

  for (const range of ['bytes=1000-', 'bytes=1000-1001', 'bytes=99999-', 'bytes=-0']) {
    it(`is 416 with the real size for ${range}`, async () => {
      const { status, headers, body } = await ask({ range });

      assert.equal(status, 416);
      assert.equal(headers['Content-Range'], 'bytes */1000');
      assert.equal(headers['Content-Length'], '0');
      assert.equal(body, undefined);
    });
  }

  for (const range of [
    'bytes',
    'bytes=',
    'bytes=a-b',
    'items=0-1',
    'items=9999-',
    'bytes=0-1,5-6',
    'bytes=1.5-2',
    '',
  ]) {
    it(`is the whole object for ${JSON.stringify(range)}`, async () => {
      const { status, headers, bytes } = await ask({ range });

      assert.equal(status, 200);
      assert.equal(headers['Content-Range'], undefined);
      assert.equal(bytes.length, 1000);
    });
  }

  it('is a part only when If-Range has the same tag', async () => {
    const range = 'bytes=0-9';

    assert.equal((await ask({ range, 'if-range': ETAG })).status, 206);
    for (const ifRange of [`W/${ETAG}`, '"other"', 'Sat, 21 Nov 2026 12:00:00 GMT']) {
      assert.equal((await ask({ range, 'if-range': ifRange })).status, 200);
    }
  });

  it('is 304 without a body when the client has these bytes already, also for HEAD and with a Range', async () => {
    for (const tags of [ETAG, `W/${ETAG}`, `"other", ${ETAG}`, '*']) {
      const { status, headers, body } = await ask({ 'if-none-match': tags, range: 'bytes=0-9' });
      assert.equal(status, 304);
      assert.equal(body, undefined);
      assert.equal(headers['ETag'], ETAG);
      assert.equal(headers['Content-Length'], undefined);
      assert.equal((await ask({ 'if-none-match': tags }, { method: 'HEAD' })).status, 304);
    }
    assert.equal((await ask({ 'if-none-match': '"other"' })).status, 200);
  });

  it('is 412 when the client expects other bytes', async () => {
    assert.equal((await ask({ 'if-match': '"other"' })).status, 412);
    assert.equal((await ask({ 'if-match': `W/${ETAG}` })).status, 412);
    assert.equal((await ask({ 'if-match': ETAG })).status, 200);
    assert.equal((await ask({ 'if-match': '*' })).status, 200);
  });

  it('is an attachment when the type is not playable', async () => {
    const disposition = async (mimeType: string): Promise<string | undefined> =>
      (await ask({}, { mimeType })).headers['Content-Disposition'];

    assert.match((await disposition('video/mp4')) ?? '', /^inline;/);
    assert.match((await disposition('audio/mpeg')) ?? '', /^inline;/);
    for (const type of ['text/html', 'image/svg+xml', 'application/octet-stream']) {
      assert.match((await disposition(type)) ?? '', /^attachment;/);
    }
  });

  it('escapes file names in its header', async () => {
    const { headers } = await ask({}, { fileName: 'a"; x=\r\nSet-Cookie: b\\ä.png' });

    const whole = 'a%22%3B%20x%3DSet-Cookie%3A%20b%5C%C3%A4.png';
    const disposition = `inline; filename="a___x___Set-Cookie__b__.png"; filename*=UTF-8''${whole}`;
    assert.equal(headers['Content-Disposition'], disposition);
  });

  it('may be cached no longer than the URL is valid', async () => {
    const { headers } = await ask({}, { now: () => NOON + 1_799_500 });
    assert.equal(headers['Cache-Control'], 'private, max-age=0');

    const late = await ask({}, { now: () => NOON + 9_999_000 });
    assert.equal(late.headers['Cache-Control'], 'private, max-age=0');
  });

  it('is an error, and no partial response, when the bytes are missing', async () => {
    for (const method of ['GET', 'HEAD'] as const) {
      await assert.rejects(ask({}, { key: 'gone', method }), ObjectNotFoundError);
    }
    await assert.rejects(ask({ range: 'bytes=0-9' }, { key: 'gone' }), ObjectNotFoundError);
  });

  it('serves an empty object', async () => {
    await store.put('empty', new Uint8Array(0), { mimeType: 'image/png' });

    const { status, headers, bytes } = await ask({}, { key: 'empty', sizeBytes: 0 });

    assert.equal(status, 200);
    assert.equal(headers['Content-Length'], '0');
    assert.equal(bytes.length, 0);
    assert.equal((await ask({ range: 'bytes=0-' }, { key: 'empty', sizeBytes: 0 })).status, 416);
  });
});

async function collect(body: Readable | undefined): Promise<Buffer> {
  const chunks: Buffer[] = [];
  if (body) for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

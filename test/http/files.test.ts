/** Uploads: `POST /v1/files`, reading and deleting them, and their URLs (contract §7 "Uploads"). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ACCOUNT_UPLOAD_BYTES, MAX_UPLOAD_BYTES, expireFiles } from '../../src/objects/uploads.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { open } from './raw-socket.ts';
import type { Client } from './raw-socket.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { createImage } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const HOUR_MS = 3_600_000;
const UNKNOWN_ID = `file_${'0'.repeat(26)}`;
/** An ftyp box makes it an MP4; the rest is not inspected. */
const MP4_HEAD = Buffer.from('000000186674797069736f6d0000020069736f6d69736f32', 'hex');

interface WireFile {
  readonly id: string;
  readonly url: string;
  readonly expireAt: number;
  readonly mimeType: string;
  readonly sizeBytes: number;
}

let served: ServedApp;
let account: ServedAccount;
let image: Buffer;
/** The fixed time of the app's clock, in milliseconds since 1970; undefined: it follows the machine's. */
let standsAt: number | undefined;
let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-uploads-'));
  served = await serveApp({ now: () => standsAt ?? Date.now(), environment: { STORE_URL: `file://${directory}` } });
  account = await served.newAccount();
  image = await createImage();
});
after(async () => {
  await served.close();
  await rm(directory, { recursive: true, force: true });
});

function authorized(of: ServedAccount = account): Record<string, string> {
  return { Authorization: `Bearer ${of.client.key}` };
}

/** Sends the bytes as they are. */
function sendRaw(bytes: Buffer | string, type?: string, of: ServedAccount = account): Promise<RawAnswer> {
  const headers = { ...authorized(of), ...(type === undefined ? {} : { 'Content-Type': type }) };
  return raw(served.url, 'POST', '/v1/files', headers, bytes);
}

interface Part {
  readonly bytes: Buffer | string;
  readonly head: string;
}

function formOf(parts: readonly Part[], boundary = 'frontier'): Buffer {
  const pieces = parts.flatMap(({ head, bytes }) => [`--${boundary}\r\n${head}\r\n\r\n`, bytes, '\r\n']);
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)));
}

function filePart(bytes: Buffer | string, name = 'file', type = 'image/png'): Part {
  return {
    bytes,
    head: `Content-Disposition: form-data; name="${name}"; filename="fox.png"\r\nContent-Type: ${type}`,
  };
}

function sendForm(body: Buffer, boundary = 'frontier'): Promise<RawAnswer> {
  return sendRaw(body, `multipart/form-data; boundary=${boundary}`);
}

function fileOf(answer: RawAnswer): WireFile {
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { data: WireFile }).data;
}

function messageOf(answer: RawAnswer): string {
  return (JSON.parse(answer.text) as { message: string }).message;
}

/** Every object in the store, and every row: nothing of a rejected upload may remain. */
async function leftOvers(): Promise<{ objects: number; rows: number }> {
  let objects = 0;
  for await (const _ of served.store.list('files/')) objects += 1;
  const [row] = await served.room.rows<{ count: bigint }>('SELECT count(*) FROM files');
  return { objects, rows: Number(row?.count) };
}

/** Runs work that must leave nothing behind. */
async function leavingNothing<T>(work: () => Promise<T>): Promise<T> {
  const earlier = await leftOvers();
  const result = await work();
  assert.deepEqual(await leftOvers(), earlier);
  return result;
}

/** Sends the head of an upload alone. */
function beginUpload(url: string, key: string, headers: readonly string[]): Client {
  const client = open(url);
  const head = ['POST /v1/files HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`, ...headers, '', ''];
  client.socket.write(head.join('\r\n'));
  return client;
}

describe('an upload', () => {
  // Proves C7-27.
  it('is accepted as raw bytes, whatever its content type, and served with its detected type', async () => {
    for (const type of [undefined, 'image/png', 'application/octet-stream', 'application/x-www-form-urlencoded']) {
      const file = fileOf(await sendRaw(image, type));

      assert.deepEqual(Object.keys(file).sort(), ['expireAt', 'id', 'mimeType', 'sizeBytes', 'url']);
      assert.match(file.id, /^file_[0-9A-HJKMNP-TV-Z]{26}$/);
      assert.equal(file.mimeType, 'image/png');
      assert.equal(file.sizeBytes, image.length);
      const response = await fetch(file.url);
      assert.equal(response.headers.get('content-type'), 'image/png');
      assert.match(String(response.headers.get('content-disposition')), new RegExp(`"${file.id}\\.png"`));
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(image));
    }
  });

  // Proves C7-27.
  it('is accepted as the one file of a form, whatever its field is called', async () => {
    for (const name of ['file', '__proto__', 'ü'.repeat(20)]) {
      const file = fileOf(await sendForm(formOf([filePart(image, name)])));
      assert.equal(file.sizeBytes, image.length);
    }
    const form = new FormData();
    form.append('image', new Blob([image]), 'fox.png');
    const response = await fetch(`${served.url}/v1/files`, { method: 'POST', headers: authorized(), body: form });
    assert.equal(response.status, 200);
  });

  it('is streamed: a video of many megabytes arrives whole', async () => {
    const video = Buffer.concat([MP4_HEAD, randomBytes(20_000_000)]);
    for (const send of [() => sendRaw(video, 'video/mp4'), () => sendForm(formOf([filePart(video)]))]) {
      const file = fileOf(await send());
      assert.equal(file.mimeType, 'video/mp4');
      const bytes = Buffer.from(await (await fetch(file.url)).arrayBuffer());
      assert.equal(createHash('sha256').update(bytes).digest('hex'), createHash('sha256').update(video).digest('hex'));
    }
  });

  // Proves C7-27.
  it('is rejected with 415 unless its bytes are media, and stores nothing', async () => {
    await leavingNothing(async () => {
      for (const bytes of ['<html><script>alert(1)</script>', 'GIF', '%PDF-1.7\n', '{"a":1}', randomBytes(100)]) {
        assert.deepEqual(errorOf(await sendRaw(bytes as Buffer, 'image/png')), {
          status: 415,
          code: 'UNSUPPORTED_MEDIA_TYPE',
        });
      }
      const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
      assert.equal(errorOf(await sendForm(formOf([filePart(svg)]))).status, 415);
      const headers = { ...authorized(), 'Content-Encoding': 'gzip' };
      assert.equal(errorOf(await raw(served.url, 'POST', '/v1/files', headers, image)).status, 415);
    });
  });

  it('is rejected with 400 when there is no file, or more than one', async () => {
    const field: Part = { head: 'Content-Disposition: form-data; name="purpose"', bytes: 'edit' };
    const cases: readonly [() => Promise<RawAnswer>, RegExp][] = [
      [() => sendRaw(''), /the file is empty/],
      [() => sendForm(formOf([filePart('')])), /the file is empty/],
      [() => sendForm(formOf([])), /missing property: file/],
      [() => sendForm(formOf([field])), /purpose: "edit" is not supported/],
      [() => sendForm(formOf([filePart(image), field])), /purpose: "edit" is not supported/],
      [
        () => sendForm(formOf([{ ...field, head: field.head.replace('purpose', 'other') }, filePart(image)])),
        /^additional properties not allowed: other$/,
      ],
      [() => sendForm(formOf([filePart(image), filePart(image, 'second')])), /more than one file/],
      [() => sendForm(formOf([filePart(image), filePart('')])), /more than one file/],
      [() => sendForm(formOf([{ head: 'X-Other: 1', bytes: 'nameless' }])), /missing property: file/],
      [() => sendForm(formOf([filePart(image)]).subarray(0, -20)), /not well-formed or breaks off/],
      [() => sendForm(Buffer.from('nothing of a form')), /not well-formed or breaks off/],
      [() => sendForm(formOf([filePart(image)], 'another')), /not well-formed or breaks off/],
      [() => sendRaw(formOf([filePart(image)]), 'multipart/form-data'), /names no boundary/],
    ];
    await leavingNothing(async () => {
      for (const [send, message] of cases) {
        const answer = await send();
        assert.deepEqual(errorOf(answer), { status: 400, code: 'INVALID_REQUEST' }, answer.text);
        assert.match(messageOf(answer), message);
      }
    });
  });

  // Proves C7-27.
  it('is rejected with 413 beyond 100 MB: by its length immediately, without one as soon as it is reached', async () => {
    await leavingNothing(async () => {
      const announced = beginUpload(served.url, account.client.key, [`Content-Length: ${MAX_UPLOAD_BYTES + 100_000}`]);
      await waitFor('it is answered', () => announced.heard() !== '');
      assert.match(announced.heard(), /^HTTP\/1.1 413 /);
      announced.socket.destroy();

      const tooLong = Buffer.concat([image, Buffer.alloc(MAX_UPLOAD_BYTES)]);
      const answer = await raw(
        served.url,
        'POST',
        '/v1/files',
        { ...authorized(), 'Transfer-Encoding': 'chunked' },
        tooLong,
      );
      assert.deepEqual(errorOf(answer), { status: 413, code: 'PAYLOAD_TOO_LARGE' });
      assert.match(messageOf(answer), /larger than 100000000 bytes/);
    });
  });

  it('leaves nothing when its client disconnects midway', async () => {
    await leavingNothing(async () => {
      for (const type of ['image/png', 'multipart/form-data; boundary=frontier']) {
        const form = formOf([filePart(randomBytes(600_000))]).subarray(0, 500_000);
        const body = type === 'image/png' ? Buffer.concat([image, randomBytes(500_000)]) : form;
        const { socket } = beginUpload(served.url, account.client.key, [
          `Content-Type: ${type}`,
          'Content-Length: 5000000',
        ]);
        socket.write(body);
        await waitForUnfinished(1);
        socket.destroy();
        await waitForUnfinished(0);
      }
    });
  });

  /** Waits until this many files of the store are being written. */
  function waitForUnfinished(count: number): Promise<void> {
    const partial = path.join(directory, '~partial');
    return waitFor(`${count} files are being written`, async () => (await readdir(partial)).length === count);
  }

  it('needs the scope storage:write', async () => {
    const reader = await account.newKey({ scopes: ['storage:read', 'tasks:write'] });
    const answer = await sendRaw(image, undefined, { ...account, client: reader.client });
    assert.deepEqual(errorOf(answer), { status: 403, code: 'FORBIDDEN' });
  });

  it('is rejected with 429 beyond 10 GB of the account, even when two would exceed the limit together', async () => {
    const full = await served.newAccount();
    const insert = `INSERT INTO files (id, account_id, object_key, mime_type, size_bytes, sha256, created_at, expires_at)
      VALUES ($1, $2, $1, 'video/mp4', $3, '', now(), to_timestamp($4::float8))`;
    const room = Math.floor(image.length * 1.5);
    const expiry = Math.floor(Date.now() / 1000) + 1_000;
    await served.room.rows(insert, `file_${full.id}`, full.id, ACCOUNT_UPLOAD_BYTES - room, expiry);

    const answers = await Promise.all([sendRaw(image, undefined, full), sendRaw(image, undefined, full)]);

    assert.deepEqual(answers.map(({ status }) => String(status)).sort(), ['200', '429']);
    const rejected = answers.find(({ status }) => status === 429);
    assert.ok(rejected);
    assert.equal(errorOf(rejected).code, 'RATE_LIMITED');
    assert.match(messageOf(rejected), /10 GB of uploads.*DELETE \/v1\/files/);
    const retryAfter = Number(rejected.headers['retry-after']);
    assert.ok(retryAfter > 900 && retryAfter <= 1_000, String(retryAfter));
    // Another account is not affected, and deleting makes room.
    fileOf(await sendRaw(image));
    const [kept] = answers.filter(({ status }) => status === 200).map(fileOf);
    await full.client.send('DELETE', `/v1/files/${kept?.id}`);
    fileOf(await sendRaw(image, undefined, full));
  });
});

describe('the connection of an upload', () => {
  /** The service's own: a minute, and 4 kB/s. */
  const PACE = { paceMs: 1_500, minBytesPerSecond: 2_000 };
  let paced: ServedApp;
  let objects: string;
  let key: string;
  before(async () => {
    objects = await mkdtemp(path.join(os.tmpdir(), 'darkroom-paced-'));
    paced = await serveApp({ environment: { STORE_URL: `file://${objects}` }, uploadBounds: PACE });
    ({ key } = (await paced.newAccount()).client);
  });
  after(async () => {
    await paced.close();
    await rm(objects, { recursive: true, force: true });
  });

  /** Starts an upload of an MP4, raw or as a form, and sends the given bytes at once. */
  function begin(contentType: string, sent: Buffer): Client {
    const client = beginUpload(paced.url, key, [`Content-Type: ${contentType}`, 'Content-Length: 5000000']);
    client.socket.write(sent);
    return client;
  }

  it('that is too slow is ended with 408, whatever it had sent before, and nothing of it is stored', async () => {
    const part = filePart(Buffer.alloc(0), 'file', 'video/mp4');
    const opening = Buffer.from(`--frontier\r\n${part.head}\r\n\r\n`);
    const file = Buffer.concat([MP4_HEAD, randomBytes(1_000_000)]);
    const form = 'multipart/form-data; boundary=frontier';
    const clients = [
      begin('video/mp4', MP4_HEAD),
      begin('video/mp4', file),
      begin(form, opening),
      begin(form, Buffer.concat([opening, file])),
    ];
    let isOver = false;
    const dripping = (async () => {
      while (!isOver) {
        for (const { socket } of clients) if (socket.writable) socket.write('x');
        await letPass(50);
      }
    })();

    for (const client of clients) {
      await waitFor('the upload is given up', () => client.isClosed());
      const [head = '', body = ''] = client.heard().split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 408 [^]*connection: close/i);
      const { code, error_code: errorCode, message, data } = JSON.parse(body) as Record<string, unknown>;
      assert.deepEqual([code, errorCode, data], [408, 'INVALID_REQUEST', null]);
      assert.match(String(message), /did not arrive in time/);
    }
    isOver = true;
    await dripping;
    const files = await readdir(objects, { recursive: true, withFileTypes: true });
    assert.deepEqual(
      files.filter((entry) => entry.isFile()).map(({ name }) => name),
      [],
    );
    assert.deepEqual(await paced.room.rows('SELECT id FROM files'), []);
  });

  it('that is slow and above the minimum rate delivers its file, as one does that sends 100 MB at once', async () => {
    const pieces = 60;
    const length = MP4_HEAD.length + pieces * 1_000;
    const slow = beginUpload(paced.url, key, ['Connection: close', `Content-Length: ${length}`]);
    slow.socket.write(MP4_HEAD);
    // About 10 kB/s, for several times the interval in which the pace is checked.
    for (let sent = 0; sent < pieces; sent++) {
      slow.socket.write(Buffer.alloc(1_000));
      await letPass(100);
    }
    await waitFor('the slow upload is answered', () => slow.isClosed());
    assert.match(slow.heard(), /^HTTP\/1\.1 200 /);

    const largest = Buffer.concat([MP4_HEAD, Buffer.alloc(MAX_UPLOAD_BYTES - MP4_HEAD.length)]);
    const answer = await raw(paced.url, 'POST', '/v1/files', { Authorization: `Bearer ${key}` }, largest);
    assert.equal(fileOf(answer).sizeBytes, MAX_UPLOAD_BYTES);
  });
});

describe('an uploaded file', () => {
  const read = (id: string, of: ServedAccount = account) => of.client.send('GET', `/v1/files/${id}`);
  const remove = (id: string, of: ServedAccount = account) => of.client.send('DELETE', `/v1/files/${id}`);

  // Proves C7-29.
  it('can be read only by its owner', async () => {
    const file = fileOf(await sendRaw(image));
    const stranger = await served.newAccount();

    const answer = await read(file.id);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.data, file);
    for (const [id, of] of [
      [file.id, stranger],
      [UNKNOWN_ID, account],
      ['file_1', account],
      ['__proto__', account],
      [`${file.id}%00`, account],
      ["' OR 1=1", account],
    ] as const) {
      const rejected = await read(encodeURI(id), of);
      assert.equal(rejected.status, 404, id);
      assert.equal(rejected.body.error_code, 'NOT_FOUND');
    }
    assert.equal((await remove(file.id, stranger)).status, 404);
    assert.equal((await read(file.id)).status, 200);
  });

  // Proves C7-29.
  it('is unavailable immediately after deletion, URLs included, and cannot be deleted twice', async () => {
    const file = fileOf(await sendRaw(image));

    const answer = await remove(file.id);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.data, { id: file.id });
    assert.equal((await read(file.id)).status, 404);
    assert.equal((await fetch(file.url)).status, 404);
    assert.equal((await remove(file.id)).status, 404);
  });

  // Proves C7-28.
  it('gets no new URL after 24 h, while existing ones stay valid to their end', async () => {
    const { database } = served.room;
    const start = Date.now();
    const expire = () => expireFiles(database, { now: standsAt ?? Date.now(), urlGraceSeconds: 2_100, limit: 100 });
    try {
      standsAt = start;
      const first = fileOf(await sendRaw(image));
      standsAt = start + 24 * HOUR_MS - 60_000;
      const last = (await read(first.id)).body.data as unknown as WireFile;
      assert.equal((await fetch(first.url)).status, 403, 'an old URL is over');
      const endMs = last.expireAt * 1000;
      assert.ok(endMs > start + 24 * HOUR_MS && endMs <= start + 24.5 * HOUR_MS);

      standsAt = start + 24 * HOUR_MS + 1_000;
      await expire();
      assert.equal((await read(first.id)).status, 404);
      assert.equal((await remove(first.id)).status, 404);
      assert.equal((await fetch(last.url)).status, 200);

      standsAt = endMs - 1_000;
      await expire();
      assert.equal((await fetch(last.url)).status, 200, 'no URL dies before its end');

      standsAt = endMs + 1_000;
      const response = await fetch(last.url);
      assert.equal(response.status, 403);
      assert.match(((await response.json()) as { message: string }).message, /GET \/v1\/files\/<id>/);

      standsAt = start + 25 * HOUR_MS;
      assert.ok((await expire()) > 0);
      assert.equal(await expire(), 0);
      const gone = 'SELECT gone_at IS NOT NULL AS "isGone" FROM files WHERE id = $1';
      assert.deepEqual(await served.room.rows(gone, first.id), [{ isGone: true }]);
    } finally {
      standsAt = undefined;
    }
  });
});

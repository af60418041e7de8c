/** `/v1/uploads`: files that are sent in parts, in the form of OpenAI's API (contract §7.5). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, describe, it, mock } from 'node:test';
import { MAX_PART_BYTES } from '@darkroom/api/openai/uploads';
import { waitFor } from '@darkroom/testing/wait-for';
import { deleteOldMultipartUploads } from '../../src/objects/multipart-uploads.ts';
import { ACCOUNT_UPLOAD_BYTES, expireFiles } from '../../src/objects/uploads.ts';
import { letPass } from '../support/let-pass.ts';
import { fillUploads } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { partForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const HOUR_MS = 3_600_000;

interface WireUpload {
  readonly id: string;
  readonly status: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly file?: { readonly id: string; readonly bytes: number; readonly expires_at: number };
}

let served: ServedApp;
let account: ServedAccount;
let aheadMs = 0;
before(async () => {
  served = await serveApp({ now: () => Date.now() + aheadMs });
  account = await served.newAccount();
});
after(() => served.close());

async function post(path: string, body: object | undefined, of: ServedAccount = account): Promise<RawAnswer> {
  const headers = { Authorization: `Bearer ${of.client.key}` };
  if (body === undefined) return raw(served.url, 'POST', `/v1/uploads${path}`, headers);
  const json = { ...headers, 'Content-Type': 'application/json' };
  return raw(served.url, 'POST', `/v1/uploads${path}`, json, JSON.stringify(body));
}

function parsed<T>(answer: RawAnswer): T {
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as T;
}

async function begin(bytes: number, changes: object = {}, of: ServedAccount = account): Promise<WireUpload> {
  const described = { filename: 'data.bin', purpose: 'user_data', bytes, mime_type: 'application/octet-stream' };
  return parsed<WireUpload>(await post('', { ...described, ...changes }, of));
}

async function sendPart({ id }: WireUpload, bytes: Buffer, of: ServedAccount = account): Promise<RawAnswer> {
  const { headers, body } = await partForm(bytes);
  const authorized = { ...headers, Authorization: `Bearer ${of.client.key}` };
  return raw(served.url, 'POST', `/v1/uploads/${id}/parts`, authorized, body);
}

async function addPart(upload: WireUpload, bytes: Buffer, of: ServedAccount = account): Promise<string> {
  return parsed<{ id: string }>(await sendPart(upload, bytes, of)).id;
}

function complete({ id }: WireUpload, partIds: readonly string[], changes: object = {}): Promise<RawAnswer> {
  return post(`/${id}/complete`, { part_ids: partIds, ...changes });
}

async function contentOf(fileId: string): Promise<Buffer> {
  const headers = { Authorization: `Bearer ${account.client.key}` };
  const response = await fetch(`${served.url}/v1/files/${fileId}/content`, { headers });
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}

function rejectionOf(answer: RawAnswer): readonly [status: number, param: string | null] {
  const { error } = JSON.parse(answer.text) as { error: { param: string | null } };
  return [answer.status, error.param];
}

async function objects(): Promise<number> {
  let count = 0;
  for await (const _ of served.store.list('files/')) count += 1;
  return count;
}

/** The rows of files that are not gone, by the account. */
async function keptBytes({ id }: ServedAccount): Promise<number> {
  const [row] = await served.room.rows<{ bytes: number }>(
    'SELECT coalesce(sum(size_bytes), 0)::float8 AS bytes FROM files WHERE account_id = $1 AND gone_at IS NULL',
    id,
  );
  return row?.bytes ?? 0;
}

/** The keys that the store is asked to read and to write, until `stop`. */
function watchStore() {
  const { store } = served;
  const [read, put] = [mock.method(store, 'read'), mock.method(store, 'put')];
  const keysOf = ({
    mock: { calls },
  }: {
    readonly mock: { readonly calls: readonly { readonly arguments: unknown[] }[] };
  }) => calls.map((call) => String(call.arguments[0]));
  return {
    get reads() {
      return keysOf(read);
    },
    get writes() {
      return keysOf(put);
    },
    stop: () => mock.restoreAll(),
  };
}

describe('an upload in parts', () => {
  it('becomes a file of the parts in the order in which they are named', async () => {
    const [first, second, third] = [randomBytes(900_000), randomBytes(1), randomBytes(70_000)];
    const whole = Buffer.concat([first, second, third]);
    const upload = await begin(whole.length, { expires_after: { anchor: 'created_at', seconds: 7_200 } });
    assert.match(upload.id, /^upload_/);
    assert.deepEqual([upload.status, upload.expires_at - upload.created_at], ['pending', 3_600]);
    const [thirdId, firstId, , secondId] = await Promise.all(
      [third, first, randomBytes(5), second].map((bytes) => addPart(upload, bytes)),
    );
    const md5 = createHash('md5').update(whole).digest('hex');

    const done = parsed<WireUpload>(
      await complete(upload, [firstId ?? '', secondId ?? '', thirdId ?? ''], { md5: md5.toUpperCase() }),
    );

    assert.equal(done.status, 'completed');
    assert.ok(done.file !== undefined && done.file.id.startsWith('file-'));
    assert.equal(done.file.bytes, whole.length);
    assert.ok((await contentOf(done.file.id)).equals(whole));
    assert.ok(Math.abs(done.file.expires_at - upload.created_at - 7_200) <= 60);
    const { status, body } = await account.client.send('GET', `/v1/files/${firstId}`);
    assert.deepEqual([status, body.error_code], [404, 'NOT_FOUND']);
  });

  it('is joined from several parts of full size', async () => {
    const parts = Array.from({ length: 3 }, () => randomBytes(MAX_PART_BYTES));
    const upload = await begin(3 * MAX_PART_BYTES);
    const ids: string[] = [];
    for (const part of parts) ids.push(await addPart(upload, part));
    const md5 = parts.reduce((hash, part) => hash.update(part), createHash('md5')).digest('hex');

    const done = parsed<WireUpload>(await complete(upload, ids, { md5 }));

    assert.equal(done.file?.bytes, 3 * MAX_PART_BYTES);
  });

  it('is the same file, joined once, however often and at how many connections it is completed', async () => {
    const own = await served.newAccount();
    const upload = await begin(4, {}, own);
    const partId = await addPart(upload, Buffer.from('data'), own);
    const before = await objects();
    const once = () => post(`/${upload.id}/complete`, { part_ids: [partId] }, own);
    const watched = watchStore();
    try {
      const all = await Promise.all(Array.from({ length: 6 }, once));
      const again = parsed<WireUpload>(await once());

      assert.deepEqual([...new Set(all.map((answer) => parsed<WireUpload>(answer).file?.id))], [again.file?.id]);
      assert.equal(watched.writes.length, 1);
    } finally {
      watched.stop();
    }
    // One part, which the sweep deletes, and one file.
    assert.equal(await objects(), before + 1);
    assert.equal(await keptBytes(own), 4);
  });

  it('stays open when a check fails', async () => {
    const upload = await begin(4);
    const other = await begin(4);
    const [mine, theirs] = [await addPart(upload, Buffer.from('data')), await addPart(other, Buffer.from('data'))];
    const before = await objects();
    for (const [partIds, changes, param] of [
      [[mine], { md5: '0'.repeat(32) }, 'md5'],
      [[mine], { md5: 'x' }, 'md5'],
      [[theirs], {}, 'part_ids.0'],
      [[mine, theirs], {}, 'part_ids.1'],
      [[`part_${'0'.repeat(26)}`], {}, 'part_ids.0'],
      [[mine, mine], {}, 'part_ids'],
      [[], {}, 'part_ids'],
      [['part_1'], {}, 'part_ids.0'],
      [Array.from({ length: 1_001 }, (_, index) => `part_${String(index).padStart(26, '0')}`), {}, 'part_ids'],
      [[mine], { other: 1 }, 'other'],
    ] as const) {
      assert.deepEqual(rejectionOf(await complete(upload, partIds, changes)), [400, param], param);
    }
    const short = await begin(5);
    const part = await addPart(short, Buffer.from('data'));
    assert.deepEqual(rejectionOf(await complete(short, [part])), [400, 'part_ids']);
    assert.equal(await objects(), before + 1);
    assert.equal(parsed<WireUpload>(await complete(upload, [mine])).status, 'completed');
  });

  it('is checked before it is written, and its hash is computed once', async () => {
    const parts = [randomBytes(40_000), randomBytes(20_000)];
    const upload = await begin(60_000);
    const ids: string[] = [];
    for (const part of parts) ids.push(await addPart(upload, part));
    const vision = await begin(5, { purpose: 'vision', filename: 'a.png' });
    const text = await addPart(vision, Buffer.from('plain'));
    const watched = watchStore();
    try {
      for (let times = 0; times < 5; times++) {
        assert.deepEqual(rejectionOf(await complete(upload, ids, { md5: '0'.repeat(32) })), [400, 'md5']);
      }
      assert.equal(watched.reads.length, 2);
      assert.equal((await complete(vision, [text])).status, 415);
      assert.deepEqual(watched.writes, []);
    } finally {
      watched.stop();
    }
    const md5 = createHash('md5').update(Buffer.concat(parts)).digest('hex');
    assert.equal(parsed<WireUpload>(await complete(upload, ids, { md5 })).status, 'completed');
  });

  it('is hashed in a limited number of orders', async () => {
    const upload = await begin(12);
    const ids: string[] = [];
    for (let index = 0; index < 12; index++) ids.push(await addPart(upload, Buffer.from([index])));
    const wrong = { md5: '0'.repeat(32) };
    for (let turn = 0; turn < 10; turn++) {
      const turned = [...ids.slice(turn), ...ids.slice(0, turn)];
      assert.deepEqual(rejectionOf(await complete(upload, turned, wrong)), [400, 'md5']);
    }
    assert.deepEqual(rejectionOf(await complete(upload, ids.toReversed(), wrong)), [400, 'part_ids']);
  });

  it('needs room for its file beside its parts', async () => {
    const full = await served.newAccount();
    await fillUploads(served, full, ACCOUNT_UPLOAD_BYTES - 1_000);
    const upload = await begin(600, {}, full);
    const part = await addPart(upload, randomBytes(600), full);

    assert.equal((await post(`/${upload.id}/complete`, { part_ids: [part] }, full)).status, 429);

    await served.room.rows('DELETE FROM files WHERE id = $1', `file_${full.id}`);
    assert.equal((await post(`/${upload.id}/complete`, { part_ids: [part] }, full)).status, 200);
  });

  it('is completed by another process once the lease of one that died has ended', async () => {
    const upload = await begin(4);
    const part = await addPart(upload, Buffer.from('data'));
    const lease = "UPDATE uploads SET completing_until = now() + $2 * interval '1 second' WHERE id = $1";
    await served.room.rows(lease, upload.id, 3_600);
    const waiting = complete(upload, [part]);
    await served.room.rows(lease, upload.id, -1);

    assert.equal(parsed<WireUpload>(await waiting).status, 'completed');
  });

  it('is cancelled once, with its parts, and takes nothing more', async () => {
    const own = await served.newAccount();
    const upload = await begin(4, {}, own);
    const part = await addPart(upload, Buffer.from('data'), own);

    for (let times = 0; times < 2; times++) {
      assert.equal(parsed<WireUpload>(await post(`/${upload.id}/cancel`, undefined, own)).status, 'cancelled');
    }

    assert.equal(await keptBytes(own), 0);
    assert.equal((await sendPart(upload, Buffer.from('data'), own)).status, 400);
    assert.equal((await post(`/${upload.id}/complete`, { part_ids: [part] }, own)).status, 400);
    const done = await begin(4);
    await complete(done, [await addPart(done, Buffer.from('data'))]);
    assert.equal((await post(`/${done.id}/cancel`, undefined)).status, 400);
    assert.equal((await sendPart(done, Buffer.from('data'))).status, 400);
  });

  it('expires after an hour, with its parts, and is forgotten later', async () => {
    const own = await served.newAccount();
    const upload = await begin(4, {}, own);
    const part = await addPart(upload, Buffer.from('data'), own);
    try {
      aheadMs = HOUR_MS + 2_000;
      assert.equal((await sendPart(upload, Buffer.from('data'), own)).status, 400);
      const late = await post(`/${upload.id}/complete`, { part_ids: [part] }, own);
      assert.match(late.text, /is expired; create another one/);
      const { database } = served.room;
      await expireFiles(database, { now: Date.now() + aheadMs, urlGraceSeconds: 0, limit: 1_000 });
      assert.equal(await keptBytes(own), 0);
      aheadMs = 26 * HOUR_MS;
      assert.ok((await deleteOldMultipartUploads(database, { now: Date.now() + aheadMs, limit: 1_000 })) >= 1);
      assert.equal((await post(`/${upload.id}/cancel`, undefined, own)).status, 404);
    } finally {
      aheadMs = 0;
    }
  });

  it('takes no part of another account, and has no id of another form', async () => {
    const upload = await begin(4);
    const part = await addPart(upload, Buffer.from('data'));
    const stranger = await served.newAccount();
    const own = await begin(4, {}, stranger);
    assert.deepEqual(rejectionOf(await post(`/${own.id}/complete`, { part_ids: [part] }, stranger)), [
      400,
      'part_ids.0',
    ]);
    for (const id of ['upload_1', '__proto__', '%00', `upload_${'0'.repeat(26)}`]) {
      assert.equal((await post(`/${id}/cancel`, undefined)).status, 404, id);
    }
  });

  it('is described by what a file can be', async () => {
    const described = { filename: 'a.jsonl', purpose: 'batch', bytes: 1, mime_type: 'application/jsonl' };
    for (const [changes, param] of [
      [{ purpose: undefined }, 'purpose'],
      [{ bytes: 0 }, 'bytes'],
      [{ bytes: 1.5 }, 'bytes'],
      [{ bytes: 200_000_001 }, 'bytes'],
      [{ purpose: 'vision', bytes: 100_000_001 }, 'bytes'],
      [{ purpose: 'user_data', bytes: 2_000_000_001 }, 'bytes'],
      [{ filename: 'a.txt' }, 'filename'],
      [{ filename: '' }, 'filename'],
      [{ filename: 'x'.repeat(256) }, 'filename'],
      [{ mime_type: undefined }, 'mime_type'],
      [{ expires_after: { anchor: 'created_at', seconds: 3_599 } }, 'expires_after.seconds'],
      [{ expires_after: { seconds: 3_600 } }, 'expires_after.anchor'],
    ] as const) {
      assert.deepEqual(
        rejectionOf(await post('', { ...described, ...changes })),
        [400, param],
        JSON.stringify(changes),
      );
    }
    const large = await begin(2_000_000_000);
    assert.equal(large.status, 'pending');
  });

  it('counts against the limit of the account, with its parts, and not twice when it is completed', async () => {
    const full = await served.newAccount();
    await fillUploads(served, full, ACCOUNT_UPLOAD_BYTES - 1_000);
    const described = { filename: 'data.bin', purpose: 'user_data', mime_type: 'application/octet-stream' };
    assert.equal((await post('', { ...described, bytes: 1_001 }, full)).status, 429);
    const upload = await begin(400, {}, full);
    const part = await addPart(upload, randomBytes(400), full);
    // The form around the bytes counts too before they have arrived.
    assert.equal((await sendPart(upload, randomBytes(601), full)).status, 429);

    const done = parsed<WireUpload>(await post(`/${upload.id}/complete`, { part_ids: [part] }, full));

    assert.equal(done.status, 'completed');
    assert.equal(await keptBytes(full), ACCOUNT_UPLOAD_BYTES - 600);
  });
});

describe('a part', () => {
  it('has a form with its bytes alone, and at most 64 MiB', async () => {
    const upload = await begin(4);
    const before = await objects();
    const path = `/v1/uploads/${upload.id}/parts`;
    const headers = { Authorization: `Bearer ${account.client.key}` };
    const named = async (...parts: readonly (readonly [string, string | Blob])[]): Promise<number> => {
      const form = new FormData();
      for (const [name, value] of parts) form.append(name, value);
      return (await fetch(`${served.url}${path}`, { method: 'POST', headers, body: form })).status;
    };
    const bytes = new Blob(['data']);

    assert.equal((await raw(served.url, 'POST', path, headers, 'data')).status, 415);
    assert.equal(await named(['file', bytes]), 400);
    assert.equal(await named(['data', bytes], ['other', '1']), 400);
    assert.equal(await named(['data', bytes], ['data', bytes]), 400);
    assert.equal(await named(['data', new Blob([])]), 400);
    assert.equal(await named(), 400);
    assert.equal((await sendPart(upload, Buffer.alloc(MAX_PART_BYTES + 1))).status, 413);
    assert.equal(await objects(), before);
    assert.deepEqual(await served.room.rows('SELECT id FROM files WHERE upload_id = $1', upload.id), []);
  });

  it('leaves nothing when its client disconnects midway', async () => {
    const upload = await begin(2_000_000);
    const before = await objects();
    const { headers, body } = await partForm(randomBytes(2_000_000));
    const { hostname, port } = new URL(served.url);
    const socket = connect(Number(port), hostname);
    const head = [
      `POST /v1/uploads/${upload.id}/parts HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${account.client.key}`,
      `Content-Type: ${headers['Content-Type']}`,
      `Content-Length: ${body.length}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    socket.write(body.subarray(0, 1_000_000));
    await letPass(300);
    socket.destroy();

    await waitFor('the upload has ended', async () => {
      const rows = await served.room.rows('SELECT id FROM files WHERE upload_id = $1', upload.id);
      return rows.length === 0 && (await objects()) === before;
    });
    const part = await addPart(upload, randomBytes(2_000_000));
    assert.equal(parsed<WireUpload>(await complete(upload, [part])).status, 'completed');
  });
});

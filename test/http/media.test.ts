/** Downloads: `GET|HEAD /media/{token}/{name}` for every client with the URL (spec §2.4, contract §3). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import { markOutputDeleted } from '../../src/objects/outputs/outputs.ts';
import type { ApiBody } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { SIGNING_KEY, serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

interface StoredOutput {
  readonly taskId: string;
  readonly id: string;
  readonly url: string;
  readonly bytes: Buffer;
}

/** A finished task with one output of these bytes. */
async function storedOutput(bytes = randomBytes(1_000), mimeType?: string): Promise<StoredOutput> {
  const { taskId } = (await account.client.create(body())).body.data;
  await served.succeed(taskId, bytes, mimeType);
  const [output] = (await account.client.get(taskId)).body.data.output ?? [];
  assert.ok(output);
  return { taskId, id: output.id, url: output.url, bytes };
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

async function rejectionOf(url: string): Promise<{ status: number; code: string; message: string }> {
  const response = await fetch(url);
  const { error_code: code, message } = (await response.json()) as ApiBody;
  return { status: response.status, code, message };
}

/** The same URL with another token. */
function withToken(url: string, token: string): string {
  const changed = new URL(url);
  const [, , , name = ''] = changed.pathname.split('/');
  changed.pathname = `/media/${token}/${name}`;
  return changed.href;
}

describe('a download', () => {
  // Proves C0-2, C3-9.
  it('needs no key and returns the exact bytes, with type, length, name and the headers that keep browsers safe', async () => {
    const { url, bytes, taskId } = await storedOutput();

    const response = await fetch(url);

    assert.equal(response.status, 200);
    assert.deepEqual(await bytesOf(response), bytes);
    const header = (name: string): string | null => response.headers.get(name);
    assert.equal(header('content-type'), 'image/png');
    assert.equal(header('content-length'), '1000');
    assert.equal(header('content-disposition'), `inline; filename="${taskId}-1.png"`);
    assert.equal(header('x-content-type-options'), 'nosniff');
    assert.equal(header('access-control-allow-origin'), '*');
    assert.equal(header('accept-ranges'), 'bytes');
    assert.equal(header('etag'), `"${createHash('sha256').update(bytes).digest('hex')}"`);
    assert.match(header('cache-control') ?? '', /^private, max-age=\d+$/);
    assert.ok(header('x-request-id'));
  });

  // Proves C3-9.
  it('returns any requested range', async () => {
    const { url, bytes } = await storedOutput();
    const cases: [string, number, Buffer, string][] = [
      ['bytes=0-0', 206, bytes.subarray(0, 1), 'bytes 0-0/1000'],
      ['bytes=100-199', 206, bytes.subarray(100, 200), 'bytes 100-199/1000'],
      ['bytes=990-', 206, bytes.subarray(990), 'bytes 990-999/1000'],
      ['bytes=-10', 206, bytes.subarray(990), 'bytes 990-999/1000'],
      ['bytes=990-5000', 206, bytes.subarray(990), 'bytes 990-999/1000'],
      ['bytes=1000-', 416, Buffer.alloc(0), 'bytes */1000'],
      ['lines=1-2', 200, bytes, ''],
    ];
    for (const [range, status, part, contentRange] of cases) {
      const response = await fetch(url, { headers: { Range: range } });
      assert.equal(response.status, status, range);
      assert.equal(response.headers.get('content-range') ?? '', contentRange);
      assert.deepEqual(await bytesOf(response), part, range);
      assert.equal(response.headers.get('content-length'), String(part.length));
    }
  });

  it('is not repeated for a client that has it: 304 by its entity tag', async () => {
    const { url } = await storedOutput();
    const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag') ?? '';

    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await fetch(url, { headers: { 'If-None-Match': condition } });
      assert.equal(response.status, 304, condition);
      assert.equal(response.headers.get('etag'), etag);
      assert.equal((await bytesOf(response)).length, 0);
    }
    assert.equal((await fetch(url, { headers: { 'If-None-Match': '"other"' } })).status, 200);
  });

  it('takes its name and type from the record, whatever follows the token in the URL', async () => {
    const { url, taskId } = await storedOutput();

    const response = await fetch(url.replace(/[^/]+$/, 'evil.html'));

    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.equal(response.headers.get('content-disposition'), `inline; filename="${taskId}-1.png"`);
  });

  it('becomes an attachment when requested, and other query parameters change nothing', async () => {
    const { url, taskId } = await storedOutput();

    const asFile = await fetch(`${url}?download=`);
    const other = await fetch(`${url}?autoplay=1`);

    assert.equal(asFile.headers.get('content-disposition'), `attachment; filename="${taskId}-1.png"`);
    assert.equal(other.headers.get('content-disposition'), `inline; filename="${taskId}-1.png"`);
    assert.deepEqual(await bytesOf(asFile), await bytesOf(other));
  });

  it('returns an empty file as an empty file', async () => {
    const { url } = await storedOutput(Buffer.alloc(0));

    const response = await fetch(url);

    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), '0');
  });
});

describe('a download URL', () => {
  // Proves S8-3, C3-17.
  it('is the same in repeated reads of a task, and expires in about half an hour', async () => {
    const { taskId, url } = await storedOutput();

    const [output] = (await account.client.get(taskId)).body.data.output ?? [];

    // The five minutes that a URL's expiry is rounded to may have ended between the two reads.
    if (output?.url !== url) assert.equal((output?.expireAt ?? 1) % 300, 0);
    const seconds = (output?.expireAt ?? 0) - Date.now() / 1000;
    assert.ok(seconds > 1_700 && seconds <= 2_101, String(seconds));
    assert.ok(url.startsWith(`${served.url}/media/`));
  });

  // Proves S8-3, C3-12.
  it('that has expired is rejected with 403, and names how to get a new one', async () => {
    const { id, url } = await storedOutput();
    const longAgo = createUrlSigner({
      publicUrl: served.url,
      signingKey: SIGNING_KEY,
      lifetimeSeconds: 60,
      now: () => Date.now() - 3_600_000,
    });

    const old = longAgo.sign({ outputId: id, fileName: 'x.png' }).url;

    assert.deepEqual(await rejectionOf(old), {
      status: 403,
      code: 'URL_EXPIRED',
      message: 'this download URL has expired; GET /v1/tasks/<id> gives a fresh one',
    });
    assert.equal((await fetch(url)).status, 200);
  });

  it('with any character altered is rejected with 403, and so is one of another key', async () => {
    const { id, url } = await storedOutput();
    const token = new URL(url).pathname.split('/')[2] ?? '';
    for (let index = 0; index < token.length; index++) {
      const other = token[index] === 'A' ? 'B' : 'A';
      const altered = token.slice(0, index) + other + token.slice(index + 1);
      const { status, code } = await rejectionOf(withToken(url, altered));
      assert.deepEqual({ status, code }, { status: 403, code: 'FORBIDDEN' }, altered);
    }
    const stranger = createUrlSigner({
      publicUrl: served.url,
      signingKey: 'another signing key of at least 32 characters',
      lifetimeSeconds: 1800,
    });
    assert.equal((await rejectionOf(stranger.sign({ outputId: id, fileName: 'x.png' }).url)).status, 403);
    for (const wrong of ['x', `${token}x`, `${token}%00`, '__proto__', '%2f']) {
      assert.equal((await rejectionOf(withToken(url, wrong))).status, 403, wrong);
    }
  });

  // Proves C3-12, C3-13.
  it('of a deleted output is answered with 404, and the task shows when it was deleted', async () => {
    const { id, url, taskId } = await storedOutput();

    await served.store.delete(await markOutputDeleted(served.room.database, id));

    assert.equal((await rejectionOf(url)).status, 404);
    const { data } = (await account.client.get(taskId)).body;
    assert.equal(data.status, 'success');
    assert.deepEqual(data.output, []);
    const [gone] = (data as { outputGone?: { id: string; goneAt: number; reason: string }[] }).outputGone ?? [];
    assert.equal(gone?.id, id);
    assert.equal(gone?.reason, 'deleted');
    assert.ok((gone?.goneAt ?? 0) >= data.completed);
  });

  it('of an output whose bytes are missing is answered with 404, by GET and HEAD', async () => {
    const { taskId, url } = await storedOutput();
    await served.store.delete(`outputs/${taskId}/1`);

    assert.equal((await rejectionOf(url)).status, 404);
    assert.equal((await fetch(url, { method: 'HEAD' })).status, 404);
  });
});

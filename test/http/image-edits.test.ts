/** `POST /v1/images/edits`: images of a form or by reference, and the images of the task as the response. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { packageFile } from '../../src/config/package-root.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { ACCOUNT_UPLOAD_BYTES } from '../../src/objects/uploads.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { drawAudio } from '../support/test-provider/audio.ts';
import { eventsOf, fillUploads, inputOfTask, madeImage, newestTask, tasksOf, uploadsOf } from './media-calls.ts';
import type { FailedAnswer } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { encodedForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const PATH = '/v1/images/edits';
const ASYNC = { Prefer: 'respond-async' };
const RETRY = { 'X-Stainless-Retry-Count': '1' };

const photo = await painted('#c33');
const other = await painted('#3c3');
const mask = await painted('#0000');

let served: ServedApp;
let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-edits-'));
  served = await serveApp({ environment: { STORE_URL: `file://${directory}` } });
});
after(async () => {
  await served.close();
  await rm(directory, { recursive: true, force: true });
});

function painted(background: string, width = 8, height = 6): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 4, background } })
    .png()
    .toBuffer();
}

type FormValue = string | Buffer;

/** By name. Of several values each is a part of its own; undefined: there is no such part. */
type FormParts = Readonly<Record<string, FormValue | readonly FormValue[] | undefined>>;

const FIELDS: FormParts = { model: 'acme/compatible-edit', prompt: 'make it night' };

/** A form of texts and of files, with a model and a prompt unless these are others. */
async function formOf(parts: FormParts): Promise<{ headers: Record<string, string>; body: Buffer }> {
  const form = new FormData();
  for (const [name, values] of Object.entries({ ...FIELDS, ...parts })) {
    for (const value of typeof values === 'string' || Buffer.isBuffer(values) ? [values] : (values ?? [])) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, new Blob([new Uint8Array(value)], { type: 'application/octet-stream' }), 'image.png');
    }
  }
  return encodedForm(form);
}

async function editForm(
  account: ServedAccount,
  parts: FormParts,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const form = await formOf(parts);
  const all = { ...form.headers, Authorization: `Bearer ${account.client.key}`, ...headers };
  return raw(served.url, 'POST', PATH, all, form.body);
}

function editJson(account: ServedAccount, changes: object, headers: Record<string, string> = {}): Promise<RawAnswer> {
  const body = { model: 'acme/compatible-edit', prompt: 'make it night', ...changes };
  const all = { 'Content-Type': 'application/json', Authorization: `Bearer ${account.client.key}`, ...headers };
  return raw(served.url, 'POST', PATH, all, JSON.stringify(body));
}

async function upload(account: ServedAccount, bytes: Buffer): Promise<{ id: string; url: string }> {
  const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'image/png' };
  const answer = await raw(served.url, 'POST', '/v1/files', headers, bytes);
  return (JSON.parse(answer.text) as { data: { id: string; url: string } }).data;
}

/** An image by reference. */
const REMOTE = { image_url: 'https://example.com/a.png' };
const dataUrl = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;
const errorOf = (answer: RawAnswer): FailedAnswer['error'] => (JSON.parse(answer.text) as FailedAnswer).error;

/** The bytes that a stored input refers to. */
async function bytesOf(account: ServedAccount, reference: unknown): Promise<Buffer> {
  const id = /^darkroom:(file_\w+)$/.exec(String(reference))?.[1] ?? assert.fail(String(reference));
  const { body } = await account.client.send('GET', `/v1/files/${id}`);
  const { url } = body.data as unknown as { url: string };
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

/** Files of the store, those that are being written included. */
async function storedFiles(): Promise<readonly string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch (error) {
    // A directory was deleted with its last file meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return storedFiles();
    throw error;
  }
}

/** Rejected, with nothing left of it. */
async function assertRejected(
  account: ServedAccount,
  answer: RawAnswer,
  [status, param, code]: readonly [status: number, param: string | null, code: string | null],
): Promise<void> {
  const error = errorOf(answer);
  assert.deepEqual([answer.status, error.param, error.code], [status, param, code], answer.text);
  assert.deepEqual(await tasksOf(served, account), []);
  assert.equal(await uploadsOf(served, account), 0);
}

describe('edits of images in a form', () => {
  // Proves C10-2.
  it('store the images in their order, and answer with those of the task', async () => {
    const account = await served.newAccount();
    const chosen = { n: '2', size: 'auto', input_fidelity: 'low', user: 'user-7' };
    const answering = editForm(account, { 'image[]': [photo, other], mask, ...chosen });
    const taskId = await newestTask(served, account);
    await served.succeedWith(taskId, [madeImage('one'), madeImage('two')]);
    const answer = await answering;

    assert.equal(answer.status, 200, answer.text);
    const { data, size } = JSON.parse(answer.text) as { data: { b64_json: string }[]; size: string };
    assert.deepEqual(
      data.map(({ b64_json: base64 }) => Buffer.from(base64, 'base64').toString()),
      ['one', 'two'],
    );
    assert.equal(size, '1024x1024');
    assert.equal(answer.headers['x-darkroom-task-id'], taskId);
    assert.match(String(answer.headers['openai-processing-ms']), /^\d+$/);
    const { image_urls: images, mask_url: masked, ...input } = await inputOfTask(served, taskId);
    assert.deepEqual(input, { prompt: 'make it night', count: 2 });
    assert.ok(Array.isArray(images) && images.length === 2);
    assert.ok((await bytesOf(account, images[0])).equals(photo));
    assert.ok((await bytesOf(account, images[1])).equals(other));
    assert.ok((await bytesOf(account, masked)).equals(mask));
    const { data: task } = (await account.client.get(taskId)).body;
    assert.equal(task.billing.captured, '0.01');
    assert.deepEqual((task as unknown as { metadata: object }).metadata, { user: 'user-7' });
  });

  it('take one image as `image`, several under that name too, and a model of one image gets no list', async () => {
    const account = await served.newAccount();
    const single = await editForm(account, { image: photo }, ASYNC);
    const several = await editForm(account, { image: [photo, other] }, ASYNC);
    const one = await editForm(account, { model: 'acme/compatible-retouch', 'image[]': photo }, ASYNC);

    const inputs = await Promise.all(
      [single, several, one].map(({ headers }) => inputOfTask(served, String(headers['x-darkroom-task-id']))),
    );
    assert.deepEqual(
      inputs.map(({ image_urls: images, image }) => (Array.isArray(images) ? images.length : typeof image)),
      [1, 2, 'string'],
    );
  });

  it('are streamed as an event for each image', async () => {
    const account = await served.newAccount();
    const answering = editForm(account, { image: photo, stream: 'true', partial_images: '2' });
    await served.succeedWith(await newestTask(served, account), [madeImage('one'), madeImage('two')]);
    const answer = await answering;

    assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.deepEqual(
      eventsOf(answer).map(({ event, data }) => [event, data['type'], data['b64_json']]),
      ['one', 'two'].map((text) => [
        'image_edit.completed',
        'image_edit.completed',
        Buffer.from(text).toString('base64'),
      ]),
    );
  });

  // Proves C10-2, C10-10.
  it('attach an automatic retry with the same images to the task, and keep no second copy of them', async () => {
    const account = await served.newAccount();
    const form = await formOf({ image: photo, mask });
    const gone = new AbortController();
    const headers = { ...form.headers, Authorization: `Bearer ${account.client.key}` };
    const lost = fetch(`${served.url}${PATH}`, {
      method: 'POST',
      headers,
      body: new Uint8Array(form.body),
      signal: gone.signal,
    });
    const taskId = await newestTask(served, account);
    gone.abort();
    await assert.rejects(lost);
    const answering = editForm(account, { image: photo, mask }, RETRY);
    await served.succeedWith(taskId, [madeImage('one')]);

    assert.equal((await answering).headers['x-darkroom-task-id'], taskId);
    assert.deepEqual(await tasksOf(served, account), [taskId]);
    await waitFor('the copies are deleted', async () => (await uploadsOf(served, account)) === 2);
    await editForm(account, { image: other, mask }, { ...RETRY, ...ASYNC });
    assert.equal((await tasksOf(served, account)).length, 2);
  });

  it('repeat the task of an Idempotency-Key, with the same images alone', async () => {
    const account = await served.newAccount();
    const headers = { ...ASYNC, 'Idempotency-Key': 'once' };
    const first = await editForm(account, { image: photo }, headers);
    const again = await editForm(account, { image: photo }, headers);
    const changed = await editForm(account, { image: other }, headers);

    assert.equal(again.headers['x-darkroom-task-id'], first.headers['x-darkroom-task-id']);
    assert.equal(again.headers['idempotent-replay'], 'true');
    assert.equal(changed.status, 422, changed.text);
    assert.equal(await uploadsOf(served, account), 1);
  });

  it('that are sent twice at the same moment with one key are one task, with one copy of the image', async () => {
    const account = await served.newAccount();
    const headers = { ...ASYNC, 'Idempotency-Key': 'at-once' };
    const answers = await Promise.all([0, 1].map(() => editForm(account, { image: photo }, headers)));

    const [taskId] = await tasksOf(served, account);
    assert.deepEqual(
      answers.map((answer) => [answer.status, answer.headers['x-darkroom-task-id']]),
      [
        [202, taskId],
        [202, taskId],
      ],
    );
    assert.equal(await uploadsOf(served, account), 1);
    const { image_urls: images } = await inputOfTask(served, taskId ?? assert.fail());
    assert.ok(Array.isArray(images));
    assert.ok((await bytesOf(account, images[0])).equals(photo));
  });

  it('name the field of the request when the task fails because of an image', async () => {
    const account = await served.newAccount();
    const answers = [editForm(account, { image: photo }), editJson(account, { images: [REMOTE] })];
    await waitFor('both tasks exist', async () => (await tasksOf(served, account)).length === 2);
    await claimOutbox(served.room.database, 1_000);
    for (const taskId of await tasksOf(served, account)) {
      await served.room.rows(
        "UPDATE tasks SET error_field = 'image_urls.0', error_case = 'unreachable' WHERE id = $1",
        taskId,
      );
      const verdict = { status: 'fail', reason: 'input_unreachable' } as const;
      await settleTask(served.room.database, taskId, verdict, { retentionDays: 7 });
    }

    for (const [index, param] of ['image', 'images.0'].entries()) {
      const answer = (await answers[index]) ?? assert.fail();
      const error = errorOf(answer);
      assert.deepEqual([answer.status, error.param, error.code], [400, param, 'input_unreachable'], answer.text);
      assert.match(error.message, new RegExp(`\\b${param}\\b`));
    }
  });

  // Case 08.
  it('have texts in UTF-8 or in the encoding that their part states, and are rejected with any other', async () => {
    for (const [type, bytes, isRead] of [
      ['text/plain', Buffer.from('caf\xe9', 'latin1'), false],
      ['text/plain; charset=utf-8', Buffer.from('caf\xe9', 'latin1'), false],
      ['text/plain; charset=utf-16', Buffer.from('\ufeffcafé', 'utf16le'), false],
      ['text/plain; charset=utf-16', Buffer.from('cafe', 'utf16le'), false],
      ['text/plain; charset=utf-16le', Buffer.from('café', 'utf16le'), true],
      ['text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1'), true],
      ['text/plain', Buffer.from('café'), true],
    ] as const) {
      const account = await served.newAccount();
      const { body, headers } = await formOf({ prompt: undefined, image: photo });
      const boundary = /boundary=(.*)$/.exec(headers['Content-Type'] ?? '')?.[1] ?? assert.fail();
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="prompt"\r\nContent-Type: ${type}\r\n\r\n`;
      const whole = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n'), body]);
      const all = { ...headers, Authorization: `Bearer ${account.client.key}`, ...ASYNC };
      const answer = await raw(served.url, 'POST', PATH, all, whole);

      if (isRead) {
        assert.equal(answer.status, 202, answer.text);
        assert.equal((await inputOfTask(served, await newestTask(served, account)))['prompt'], 'café');
      } else {
        await assertRejected(account, answer, [400, 'prompt', 'invalid_value']);
        assert.match(errorOf(answer).message, /the text is not UTF-8/);
      }
    }
  });

  const rejected: readonly (readonly [
    what: string,
    parts: FormParts,
    error: readonly [status: number, param: string | null, code: string | null],
  ])[] = [
    ['no image', {}, [400, 'image', 'missing_required_parameter']],
    ['a mask alone', { mask }, [400, 'image', 'missing_required_parameter']],
    ['a text as the image', { image: 'https://example.com/a.png' }, [400, 'image', 'unknown_parameter']],
    ['an empty file', { image: Buffer.alloc(0) }, [400, 'image', 'invalid_value']],
    ['a file that is no media', { 'image[]': Buffer.from('<svg/>') }, [400, 'image', 'unsupported_file_mimetype']],
    [
      'a second image that is no media',
      { 'image[]': [photo, randomBytes(100)] },
      [400, 'image', 'unsupported_file_mimetype'],
    ],
    ['a sound', { image: drawAudio('a station', 1) }, [400, 'image', 'unsupported_file_mimetype']],
    [
      'a mask that is no media',
      { image: photo, mask: Buffer.from('mask') },
      [400, 'mask', 'unsupported_file_mimetype'],
    ],
    [
      'more images than the model takes',
      { 'image[]': Array<Buffer>(4).fill(photo) },
      [400, 'image', 'array_above_max_length'],
    ],
    ['more images than OpenAI takes', { 'image[]': Array<Buffer>(17).fill(photo) }, [400, 'image', 'invalid_value']],
    ['two masks', { image: photo, mask: [mask, mask] }, [400, 'mask', 'invalid_value']],
    ['an unknown file', { image: photo, picture: photo }, [400, 'picture', 'unknown_parameter']],
    ['an unknown field', { image: photo, seed: '7' }, [400, 'seed', 'unknown_parameter']],
    ['a field of every object', { image: photo, constructor: '7' }, [400, 'constructor', 'unknown_parameter']],
    ['a field twice', { image: photo, n: ['1', '2'] }, [400, 'n', 'invalid_value']],
    ['a number that is none', { image: photo, n: 'two' }, [400, 'n', 'invalid_type']],
    ['too large a number', { image: photo, n: '5' }, [400, 'n', 'integer_above_max_value']],
    ['a stream that is no boolean', { image: photo, stream: 'yes' }, [400, 'stream', 'invalid_type']],
    [
      'partial images without a stream',
      { image: photo, partial_images: '1' },
      [400, 'partial_images', 'unsupported_value'],
    ],
    ['a size that the model does not have', { image: photo, size: '512x512' }, [400, 'size', 'unsupported_parameter']],
    [
      'a fidelity that the model does not have',
      { image: photo, input_fidelity: 'high' },
      [400, 'input_fidelity', 'unsupported_parameter'],
    ],
    ['no prompt', { image: photo, prompt: undefined }, [400, 'prompt', 'missing_required_parameter']],
    ['no model', { image: photo, model: undefined }, [400, 'model', 'missing_required_parameter']],
    ['an unknown model', { image: photo, model: 'acme/none' }, [400, 'model', 'model_not_found']],
    [
      'a model of another endpoint, with several images',
      { 'image[]': [photo, photo], model: 'acme/compatible' },
      [400, 'model', 'model_not_found'],
    ],
    [
      'several images for a model of one',
      { 'image[]': [photo, photo], model: 'acme/compatible-retouch' },
      [400, 'image', 'invalid_value'],
    ],
    [
      'a mask for a model without',
      { image: photo, mask, model: 'acme/compatible-retouch' },
      [400, 'mask', 'unsupported_parameter'],
    ],
  ];
  for (const [what, parts, error] of rejected) {
    it(`are rejected with ${what}, by the field, and nothing is kept`, async () => {
      const account = await served.newAccount();
      await assertRejected(account, await editForm(account, parts), error);
    });
  }

  it('take a mask as large as a turned photograph is shown', async () => {
    const account = await served.newAccount();
    const turned = await sharp(photo).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const created = await editForm(account, { image: turned, mask: await painted('#0000', 6, 8) }, ASYNC);
    assert.equal(created.status, 202, created.text);
    const stored = await editForm(account, { image: turned, mask }, ASYNC);
    assert.match(errorOf(stored).message, /it has 8x6 pixels, and the first image 6x8/);
  });

  // Case 04.
  it('take a photograph with megabytes of metadata before its size', async () => {
    const account = await served.newAccount();
    const jpeg = await sharp(photo).jpeg().toBuffer();
    const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0xfd, 0xea]), Buffer.alloc(65_000)]);
    const heavy = Buffer.concat([jpeg.subarray(0, 2), ...Array.from({ length: 17 }, () => segment), jpeg.subarray(2)]);

    const created = await editForm(account, { image: heavy }, ASYNC);

    assert.equal(created.status, 202, created.text);
  });

  it('take a photograph of a phone, which is stored as a JPEG, upright', async () => {
    const account = await served.newAccount();
    const heic = await readFile(packageFile('packages/media/test/files/turned.heic'));
    const created = await editForm(account, { image: heic }, ASYNC);
    assert.equal(created.status, 202, created.text);

    const input = await inputOfTask(served, await newestTask(served, account));
    const { format, width, height } = await sharp(
      await bytesOf(account, (input['image_urls'] as string[])[0]),
    ).metadata();
    assert.deepEqual([format, width, height], ['jpeg', 240, 320]);
    assert.equal((await upload(account, heic)).url.split('.').at(-1), 'jpg');
  });

  // Case 11.
  it('take a data URL in every spelling', async () => {
    const base64 = photo.toString('base64');
    for (const url of [
      `data:image/png;charset=utf-8;base64,${base64}`,
      `DATA:image/png;BASE64,${base64}`,
      `data:image/jpg;base64,${base64}`,
      `data:image/png;base64,${encodeURIComponent(base64)}`,
      `data:image/png;base64,${base64.replaceAll(/.{76}/g, '$&\r\n')}`,
      `data:;base64,${base64.replaceAll('=', '')}`,
      ` data:image/png;base64,${base64}\n`,
      `data:image/png;base64,${photo.toString('base64url')}`,
      `data:application/octet-stream;name="a,b.png";base64,${base64}`,
    ]) {
      const account = await served.newAccount();
      const created = await editJson(account, { images: [{ image_url: url }] }, ASYNC);
      assert.equal(created.status, 202, created.text);
      const input = await inputOfTask(served, await newestTask(served, account));
      assert.ok((await bytesOf(account, (input['image_urls'] as string[])[0])).equals(photo));
    }
  });

  it('are rejected with a data URL that is cut or is no base64', async () => {
    const account = await served.newAccount();
    const base64 = photo.toString('base64');
    for (const data of [
      `base64,${base64.slice(0, 41)}`,
      `base64,${base64.slice(0, 40)}!${base64.slice(40)}`,
      `base64,${base64}%`,
      `name=a,b.png;base64,${base64}`,
    ]) {
      const answer = await editJson(account, { images: [{ image_url: `data:image/png;${data}` }] }, ASYNC);
      await assertRejected(account, answer, [400, 'images.0.image_url', 'invalid_value']);
    }
  });

  it('are rejected with a mask of other dimensions, or of another type', async () => {
    const account = await served.newAccount();
    const small = await editForm(account, { image: photo, mask: await painted('#0000', 4, 6) });
    await assertRejected(account, small, [400, 'mask', 'invalid_value']);
    assert.match(errorOf(small).message, /it has 4x6 pixels, and the first image 8x6/);
    const jpeg = await sharp(mask).jpeg().toBuffer();
    const wrong = await editForm(account, { image: photo, mask: jpeg });
    await assertRejected(account, wrong, [400, 'mask', 'invalid_value']);
    assert.match(errorOf(wrong).message, /got image\/jpeg, want image\/png/);
  });

  it('are rejected with 413 beyond 50 MB for an image, by the field', async () => {
    const account = await served.newAccount();
    const large = Buffer.concat([photo, Buffer.alloc(50_000_000)]);
    await assertRejected(account, await editForm(account, { image: large }), [413, 'image', 'payload_too_large']);
  });

  it('are rejected with 415 with another content type, and with 400 for a form that breaks off', async () => {
    const account = await served.newAccount();
    const authorized = { Authorization: `Bearer ${account.client.key}` };
    const plain = await raw(served.url, 'POST', PATH, { ...authorized, 'Content-Type': 'text/plain' }, 'a');
    assert.equal(plain.status, 415, plain.text);
    const none = await raw(served.url, 'POST', PATH, authorized, photo);
    assert.equal(none.status, 415, none.text);
    const { headers, body } = await formOf({ image: photo });
    const cut = await raw(served.url, 'POST', PATH, { ...authorized, ...headers }, body.subarray(0, -30));
    assert.equal(cut.status, 400, cut.text);
    assert.equal(await uploadsOf(served, account), 0);
  });

  // Proves C10-2.
  it('leave nothing when the client disconnects in the middle, or the account has no room for the last image', async () => {
    const account = await served.newAccount();
    const before = await storedFiles();
    const form = await formOf({ 'image[]': [photo, randomBytes(600_000)] });
    const { hostname, port } = new URL(served.url);
    const socket = connect(Number(port), hostname);
    const head = [`POST ${PATH} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${account.client.key}`];
    const type = `Content-Type: ${form.headers['Content-Type']}`;
    socket.write([...head, type, `Content-Length: ${form.body.length}`, '', ''].join('\r\n'));
    socket.write(form.body.subarray(0, 500_000));
    // The first image is complete by then, and the second one is being written.
    await waitFor('two more files are there', async () => (await storedFiles()).length === before.length + 2);
    socket.destroy();
    await waitFor('nothing is left', async () => (await storedFiles()).length === before.length);

    const used = ACCOUNT_UPLOAD_BYTES - Math.floor(photo.length * 1.5) - 1_000;
    const padded = Buffer.concat([photo, Buffer.alloc(1_000)]);
    await fillUploads(served, account, used);
    const full = await editForm(account, { 'image[]': [padded, photo] }, { 'Transfer-Encoding': 'chunked' });
    assert.equal(full.status, 429, full.text);
    assert.equal(await uploadsOf(served, account), 1);
    assert.equal((await storedFiles()).length, before.length);
    assert.deepEqual(await tasksOf(served, account), []);
  });
});

describe('edits of images as JSON', () => {
  // Proves C10-2.
  it('take URLs, files of the account and data URLs', async () => {
    const account = await served.newAccount();
    const file = await upload(account, photo);
    const answer = await editJson(
      account,
      {
        images: [REMOTE, { file_id: file.id }, { image_url: dataUrl(other) }],
        mask: { image_url: dataUrl(await painted('#0000', 3, 3)) },
        n: null,
      },
      ASYNC,
    );

    assert.equal(answer.status, 202, answer.text);
    const { image_urls: images, mask_url: masked } = await inputOfTask(
      served,
      String(answer.headers['x-darkroom-task-id']),
    );
    assert.ok(Array.isArray(images));
    assert.deepEqual(images.slice(0, 2), ['https://example.com/a.png', `darkroom:${file.id}`]);
    assert.ok((await bytesOf(account, images[2])).equals(other));
    assert.equal(typeof masked, 'string');
    assert.equal(await uploadsOf(served, account), 3);
  });

  it('answer with the images, and attach a retry that has the same images as data', async () => {
    const account = await served.newAccount();
    const body = { images: [{ image_url: dataUrl(photo) }] };
    const first = await editJson(account, body, { ...ASYNC, 'Idempotency-Key': 'a' });
    const taskId = String(first.headers['x-darkroom-task-id']);
    await served.succeedWith(taskId, [madeImage('one')]);
    const again = await editJson(account, body, { 'Idempotency-Key': 'a' });

    assert.equal(again.status, 200, again.text);
    assert.equal(again.headers['x-darkroom-task-id'], taskId);
    assert.equal(await uploadsOf(served, account), 1);
  });

  const hash = createHash('sha256').update('none').digest('hex').slice(0, 26).toUpperCase();
  const rejected: readonly (readonly [
    what: string,
    changes: object,
    error: readonly [status: number, param: string | null, code: string | null],
  ])[] = [
    ['the field of the form', { image: 'https://example.com/a.png' }, [400, 'images', 'missing_required_parameter']],
    ['an empty reference', { images: [{}] }, [400, 'images.0', 'invalid_value']],
    ['a reference that says both', { images: [{ file_id: 'a', ...REMOTE }] }, [400, 'images.0', 'invalid_value']],
    ['a text as a reference', { images: ['https://example.com/a.png'] }, [400, 'images.0', 'invalid_type']],
    ['an unknown file', { images: [{ file_id: `file_${hash}` }] }, [404, 'images.0.file_id', 'not_found']],
    ['an id that is none', { images: [{ file_id: 'a\u0000b' }] }, [400, 'images.0.file_id', 'invalid_value']],
    [
      'a URL of a private address',
      { images: [REMOTE, { image_url: 'http://127.0.0.1/a.png' }] },
      [400, 'images.1', 'invalid_value'],
    ],
    ['a URL that is none', { images: [{ image_url: 'a.png' }] }, [400, 'images.0', 'invalid_value']],
    [
      'data that is not base64',
      { images: [{ image_url: 'data:image/png;base64,abc!' }] },
      [400, 'images.0.image_url', 'invalid_value'],
    ],
    [
      'text that is no image',
      { images: [{ image_url: 'data:image/png,abc' }] },
      [400, 'images.0.image_url', 'unsupported_file_mimetype'],
    ],
    [
      'data without an end',
      { images: [{ image_url: 'data:image/png;base64' }] },
      [400, 'images.0.image_url', 'invalid_value'],
    ],
    ['empty data', { images: [{ image_url: 'data:image/png;base64,' }] }, [400, 'images.0.image_url', 'invalid_value']],
    [
      'data that is no image',
      { images: [{ image_url: dataUrl(Buffer.from('no image at all')) }] },
      [400, 'images.0.image_url', 'unsupported_file_mimetype'],
    ],
    [
      'more images than the model takes',
      { images: [REMOTE, REMOTE, REMOTE, REMOTE] },
      [400, 'images', 'array_above_max_length'],
    ],
    [
      'several images for a model of one',
      { model: 'acme/compatible-retouch', images: [REMOTE, { image_url: 'https://example.com/b.png' }] },
      [400, 'images', 'invalid_value'],
    ],
    [
      'a mask that is no image',
      { images: [REMOTE], mask: { image_url: dataUrl(Buffer.from('mask')) } },
      [400, 'mask.image_url', 'unsupported_file_mimetype'],
    ],
  ];
  for (const [what, changes, error] of rejected) {
    it(`are rejected with ${what}, by the field, and nothing is kept`, async () => {
      const account = await served.newAccount();
      await assertRejected(account, await editJson(account, changes), error);
    });
  }

  it('do not take the file of another account, and need the scope that reads files', async () => {
    const account = await served.newAccount();
    const stranger = await served.newAccount();
    const { id, url } = await upload(account, photo);
    await assertRejected(stranger, await editJson(stranger, { images: [{ file_id: id }] }), [
      404,
      'images.0.file_id',
      'not_found',
    ]);
    await assertRejected(stranger, await editJson(stranger, { images: [{ image_url: url }] }), [
      400,
      'images.0',
      'invalid_value',
    ]);
    const { client } = await account.newKey({ scopes: ['tasks:write'] });
    assert.equal((await editJson({ ...account, client }, { images: [{ file_id: id }] })).status, 403);
  });

  it('are rejected with a mask of other dimensions than the file', async () => {
    const account = await served.newAccount();
    const [image, wrong] = [await upload(account, photo), await upload(account, await painted('#0000', 3, 3))];
    const answer = await editJson(account, { images: [{ file_id: image.id }], mask: { file_id: wrong.id } });

    assert.deepEqual([answer.status, errorOf(answer).param], [400, 'mask'], answer.text);
    assert.equal(await uploadsOf(served, account), 2);
  });

  it('are rejected when the body is no JSON, or larger than 10 MB', async () => {
    const account = await served.newAccount();
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${account.client.key}` };
    assert.equal((await raw(served.url, 'POST', PATH, headers, '{"images":')).status, 400);
    assert.equal((await raw(served.url, 'POST', PATH, headers, '[]')).status, 400);
    const large = JSON.stringify({ images: [{ image_url: `data:image/png;base64,${'A'.repeat(10_000_000)}` }] });
    assert.equal((await raw(served.url, 'POST', PATH, headers, large)).status, 413);
  });
});

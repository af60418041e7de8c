/** Files, uploads and batches of OpenAI's official client for JavaScript, unmodified, against a running Darkroom. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import OpenAI, { BadRequestError, NotFoundError, toFile } from 'openai';
import { waitFor } from '@darkroom/testing/wait-for';
import { lineOf } from '../e2e/batch-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

const LINES = Buffer.from('{"custom_id":"a"}\n');
const IMAGES = '/v1/images/generations';
const IMAGE = { model: 'darkroom/scene', prompt: 'a lake', size: '1024x1024' };

let darkroom: Darkroom;
let client: OpenAI;
before(async () => {
  darkroom = await startDarkroom();
  const account = await darkroom.createAccount();
  client = new OpenAI({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1`, maxRetries: 0 });
});
after(() => darkroom?.stop());

describe("files and uploads of OpenAI's official client", () => {
  it('creates, retrieves, downloads and deletes a file', async () => {
    const created = await client.files.create({
      file: await toFile(LINES, 'lines.jsonl'),
      purpose: 'batch',
      expires_after: { anchor: 'created_at', seconds: 3_600 },
    });

    assert.deepEqual(
      [created.object, created.bytes, created.filename, created.purpose, created.status],
      ['file', LINES.length, 'lines.jsonl', 'batch', 'processed'],
    );
    assert.equal((created.expires_at ?? 0) - created.created_at, 3_600);
    assert.deepEqual(await client.files.retrieve(created.id), created);
    assert.deepEqual(await client.files.waitForProcessing(created.id), created);
    const content = await client.files.content(created.id);
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(LINES));
    const { id, deleted } = await client.files.delete(created.id);
    assert.deepEqual([id, deleted], [created.id, true]);
    await assert.rejects(client.files.retrieve(created.id), NotFoundError);
  });

  it('sends a file in parts', async () => {
    const pieces = [randomBytes(300_000), randomBytes(200_000)];
    const bytes = Buffer.concat(pieces);
    const described = { filename: 'data.bin', purpose: 'user_data', mime_type: 'application/octet-stream' } as const;
    const upload = await client.uploads.create({ ...described, bytes: bytes.length });
    const parts: string[] = [];
    for (const piece of pieces) {
      const data = await toFile(piece, 'part');
      parts.push((await client.uploads.parts.create(upload.id, { data })).id);
    }
    const md5 = createHash('md5').update(bytes).digest('hex');

    const { status, file } = await client.uploads.complete(upload.id, { part_ids: parts, md5 });

    assert.equal(status, 'completed');
    const content = await client.files.content(file?.id ?? '');
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(bytes));
    const other = await client.uploads.create({ ...described, bytes: 1 });
    assert.equal((await client.uploads.cancel(other.id)).status, 'cancelled');
  });

  it('reports what is rejected with its own classes of errors', async () => {
    const create = async (name: string, purpose: OpenAI.FilePurpose) =>
      client.files.create({ file: await toFile(LINES, name), purpose });
    const upload = { filename: 'a.jsonl', bytes: 200_000_001, mime_type: 'application/jsonl' };
    const rejections: readonly (readonly [() => Promise<unknown>, string])[] = [
      [() => create('lines.jsonl', 'fine-tune'), 'purpose'],
      [() => create('a.txt', 'batch'), 'file'],
      [() => client.files.list({ after: 'file-none' }), 'after'],
      [() => client.uploads.create({ ...upload, purpose: 'batch' }), 'bytes'],
    ];
    for (const [call, param] of rejections) {
      await assert.rejects(call(), (error: unknown) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.deepEqual([error.param, error.code], [param, 'invalid_value']);
        return true;
      });
    }
    await assert.rejects(client.files.content(`file-${'0'.repeat(26)}`), NotFoundError);
    await assert.rejects(client.uploads.cancel('upload_none'), NotFoundError);
  });
});

describe("batches of OpenAI's official client", () => {
  async function create(
    ids: readonly string[],
    endpoint: OpenAI.BatchCreateParams['endpoint'] = IMAGES,
    body: object = IMAGE,
  ): Promise<string> {
    const lines = Buffer.from(ids.map((id) => lineOf(endpoint, id, body)).join('\n'));
    const input = await client.files.create({ file: await toFile(lines, 'lines.jsonl'), purpose: 'batch' });
    const options = { completion_window: '24h', metadata: { order: '7' } } as const;
    return (await client.batches.create({ input_file_id: input.id, endpoint, ...options })).id;
  }

  /** Polls it. @returns the batch, and the lines of its results. */
  async function ended<Body>(id: string) {
    await waitFor('the batch has ended', async () => (await client.batches.retrieve(id)).status === 'completed');
    const batch = await client.batches.retrieve(id);
    const text = await (await client.files.content(batch.output_file_id ?? '')).text();
    const lines = text.trim().split('\n');
    return { batch, results: lines.map((line) => JSON.parse(line) as ResultLine<Body>) };
  }

  it('creates, polls and downloads the results', async () => {
    const { batch, results } = await ended<object>(await create(['a', 'b']));
    assert.deepEqual(batch.request_counts, { total: 2, completed: 2, failed: 0 });
    assert.deepEqual(batch.metadata, { order: '7' });
    assert.deepEqual(
      results.map((line) => [line.custom_id, line.response.status_code]),
      [
        ['a', 200],
        ['b', 200],
      ],
    );
    await assert.rejects(client.batches.cancel(batch.id), BadRequestError);
  });

  it('creates batches of a text model', async () => {
    const model = 'darkroom/conformance-text';
    const body = { model, messages: [{ role: 'user', content: 'What is 17 * 3?' }] };
    const id = await create(['a', 'b'], '/v1/chat/completions', body);
    const { batch, results } = await ended<{ usage: { total_tokens: number } }>(id);
    assert.deepEqual(batch.request_counts, { total: 2, completed: 2, failed: 0 });
    assert.equal(batch.model, model);
    assert.ok(results.length === 2 && /51/.test(JSON.stringify(results)));
    const tokens = results.reduce((sum, { response }) => sum + response.body.usage.total_tokens, 0);
    assert.equal(batch.usage?.total_tokens, tokens);
  });

  it('cancels, and lists over several pages', async () => {
    const created: string[] = [];
    for (const id of ['one', 'two', 'three']) {
      const batch = await create([id]);
      created.unshift(batch);
      const { status } = await client.batches.cancel(batch);
      assert.ok(['cancelling', 'cancelled'].includes(status), status);
    }
    const listed: string[] = [];
    for await (const { id } of client.batches.list({ limit: 2 })) listed.push(id);
    assert.deepEqual(listed.slice(0, 3), created);
    assert.equal(listed.length, 5);
  });

  it('gets the errors that it knows', async () => {
    await assert.rejects(client.batches.retrieve('batch_none'), NotFoundError);
    await assert.rejects(client.batches.cancel('batch_none'), NotFoundError);
    await assert.rejects(client.batches.list({ after: 'batch_none' }), BadRequestError);
    await assert.rejects(
      client.batches.create({ input_file_id: 'file-none', endpoint: IMAGES, completion_window: '24h' }),
      BadRequestError,
    );
  });
});

/** A line of a file of results. */
interface ResultLine<Body> {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: Body };
}

/** Files and uploads of OpenAI's official client for JavaScript, unmodified, against a running Darkroom. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import sharp from 'sharp';
import { installClients } from '../oracle/client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

interface FileObject {
  readonly id: string;
  readonly object: string;
  readonly bytes: number;
  readonly filename: string;
  readonly purpose: string;
  readonly status: string;
  readonly created_at: number;
  readonly expires_at?: number;
}
interface Upload {
  readonly id: string;
  readonly status: string;
  readonly file?: FileObject | null;
}
/** What is used of the client; it is not a dependency, so its types are not here. */
interface OpenAiClient {
  readonly files: {
    create(body: object): Promise<FileObject>;
    retrieve(id: string): Promise<FileObject>;
    list(query?: object): AsyncIterable<FileObject> & PromiseLike<{ readonly data: readonly FileObject[] }>;
    content(id: string): Promise<Response>;
    delete(id: string): Promise<{ readonly id: string; readonly deleted: boolean }>;
    waitForProcessing(id: string): Promise<FileObject>;
  };
  readonly uploads: {
    create(body: object): Promise<Upload>;
    complete(id: string, body: object): Promise<Upload>;
    cancel(id: string): Promise<Upload>;
    readonly parts: { create(id: string, body: object): Promise<{ readonly id: string }> };
  };
}
interface OpenAiModule {
  readonly default: new (options: object) => OpenAiClient;
  toFile(bytes: Buffer, name: string): Promise<unknown>;
  readonly BadRequestError: new () => Error;
  readonly NotFoundError: new () => Error;
  readonly APIError: new () => Error & { readonly param: string | null; readonly code: string | null };
}

const LINES = Buffer.from('{"custom_id":"a"}\n');

describe("files and uploads of OpenAI's official client", () => {
  let openai: OpenAiModule;
  let darkroom: Darkroom;
  let client: OpenAiClient;
  before(async () => {
    const file = path.join(await installClients(), 'node_modules', 'openai', 'index.mjs');
    // Installed outside the repository, for tests alone.
    openai = (await import(pathToFileURL(file).href)) as OpenAiModule;
    darkroom = await startDarkroom({ apis: 1, workers: 0 });
    const account = await darkroom.createAccount();
    client = new openai.default({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1` });
  });
  after(() => darkroom?.stop());

  it('creates, retrieves, downloads and deletes a file', async () => {
    const expiry = { anchor: 'created_at', seconds: 3_600 };
    const created = await client.files.create({
      file: await openai.toFile(LINES, 'lines.jsonl'),
      purpose: 'batch',
      expires_after: expiry,
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
    await assert.rejects(client.files.retrieve(created.id), openai.NotFoundError);
  });

  it('lists files page by page', async () => {
    const image = await sharp({ create: { width: 2, height: 2, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) {
      const file = await openai.toFile(image, `${index}.png`);
      ids.push((await client.files.create({ file, purpose: 'vision' })).id);
    }
    const seen: string[] = [];
    for await (const { id } of client.files.list({ purpose: 'vision', limit: 2, order: 'asc' })) seen.push(id);

    assert.deepEqual(seen, ids);
    assert.equal((await client.files.list({ purpose: 'vision' })).data.length, 5);
  });

  it('sends a file in parts', async () => {
    const pieces = [randomBytes(300_000), randomBytes(200_000)];
    const bytes = Buffer.concat(pieces);
    const described = { filename: 'data.bin', purpose: 'user_data', mime_type: 'application/octet-stream' };
    const upload = await client.uploads.create({ ...described, bytes: bytes.length });
    const parts: string[] = [];
    for (const piece of pieces) {
      const data = await openai.toFile(piece, 'part');
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
    const file = () => openai.toFile(LINES, 'lines.jsonl');
    const upload = { filename: 'a.jsonl', purpose: 'batch', bytes: 200_000_001, mime_type: 'application/jsonl' };
    const rejections: readonly (readonly [() => Promise<unknown>, string])[] = [
      [async () => client.files.create({ file: await file(), purpose: 'fine-tune' }), 'purpose'],
      [async () => client.files.create({ file: await openai.toFile(LINES, 'a.txt'), purpose: 'batch' }), 'file'],
      [async () => client.files.list({ after: 'file-none' }), 'after'],
      [() => client.uploads.create(upload), 'bytes'],
    ];
    for (const [call, param] of rejections) {
      await assert.rejects(call(), (error: unknown) => {
        assert.ok(error instanceof openai.BadRequestError && error instanceof openai.APIError, String(error));
        assert.deepEqual([error.param, error.code], [param, 'invalid_value']);
        return true;
      });
    }
    await assert.rejects(client.files.content(`file-${'0'.repeat(26)}`), openai.NotFoundError);
    await assert.rejects(client.uploads.cancel('upload_none'), openai.NotFoundError);
  });
});

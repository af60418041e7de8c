/** Batches of OpenAI's official client for JavaScript, unmodified, against a running Darkroom. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { waitFor } from '@darkroom/testing/wait-for';
import { lineOf } from '../e2e/batch-client.ts';
import { installClients } from '../oracle/client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id?: string;
  readonly request_counts?: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly model?: string;
  readonly usage?: { readonly total_tokens: number };
}
/** What is used of the client; it is not a dependency, so its types are not here. */
interface OpenAiClient {
  readonly files: {
    create(body: object): Promise<{ readonly id: string }>;
    content(id: string): Promise<Response>;
  };
  readonly batches: {
    create(body: object): Promise<Batch>;
    retrieve(id: string): Promise<Batch>;
    cancel(id: string): Promise<Batch>;
    list(query?: object): AsyncIterable<Batch>;
  };
}
interface OpenAiModule {
  readonly default: new (options: object) => OpenAiClient;
  toFile(bytes: Buffer, name: string): Promise<unknown>;
  readonly BadRequestError: new () => Error;
  readonly NotFoundError: new () => Error;
}

const IMAGES = '/v1/images/generations';

describe("batches of OpenAI's official client", () => {
  let openai: OpenAiModule;
  let darkroom: Darkroom;
  let client: OpenAiClient;
  before(async () => {
    const file = path.join(await installClients(), 'node_modules', 'openai', 'index.mjs');
    // Installed outside the repository, for tests alone.
    openai = (await import(pathToFileURL(file).href)) as OpenAiModule;
    darkroom = await startDarkroom();
    const account = await darkroom.createAccount();
    client = new openai.default({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1`, maxRetries: 0 });
  });
  after(() => darkroom?.stop());

  async function create(ids: readonly string[]): Promise<Batch> {
    const body = { model: 'darkroom/scene', prompt: 'a lake', size: '1024x1024' };
    const lines = Buffer.from(ids.map((id) => lineOf(IMAGES, id, body)).join('\n'));
    const input = await client.files.create({ file: await openai.toFile(lines, 'lines.jsonl'), purpose: 'batch' });
    return client.batches.create({
      input_file_id: input.id,
      endpoint: IMAGES,
      completion_window: '24h',
      metadata: { order: '7' },
    });
  }

  it('creates, polls and downloads the results', async () => {
    const { id } = await create(['a', 'b']);
    await waitFor('the batch has ended', async () => (await client.batches.retrieve(id)).status === 'completed');
    const ended = await client.batches.retrieve(id);
    assert.deepEqual(ended.request_counts, { total: 2, completed: 2, failed: 0 });
    assert.deepEqual(ended.metadata, { order: '7' });
    const text = await (await client.files.content(ended.output_file_id ?? '')).text();
    const results = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { custom_id: string; response: { status_code: number } });
    assert.deepEqual(
      results.map((line) => [line.custom_id, line.response.status_code]),
      [
        ['a', 200],
        ['b', 200],
      ],
    );
  });

  it('creates batches of a text model', async () => {
    const url = '/v1/chat/completions';
    const model = 'darkroom/conformance-text';
    const body = { model, messages: [{ role: 'user', content: 'What is 17 * 3?' }] };
    const lines = Buffer.from(['a', 'b'].map((id) => lineOf(url, id, body)).join('\n'));
    const input = await client.files.create({ file: await openai.toFile(lines, 'lines.jsonl'), purpose: 'batch' });
    const { id } = await client.batches.create({ input_file_id: input.id, endpoint: url, completion_window: '24h' });
    await waitFor('the batch has ended', async () => (await client.batches.retrieve(id)).status === 'completed');
    const ended = await client.batches.retrieve(id);
    assert.deepEqual(ended.request_counts, { total: 2, completed: 2, failed: 0 });
    assert.equal(ended.model, model);
    const text = await (await client.files.content(ended.output_file_id ?? '')).text();
    const results = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { response: { body: { usage: { total_tokens: number } } } });
    assert.ok(results.length === 2 && /51/.test(text));
    const tokens = results.reduce((sum, { response }) => sum + response.body.usage.total_tokens, 0);
    assert.equal(ended.usage?.total_tokens, tokens);
  });

  it('cancels, and lists over several pages', async () => {
    const created: string[] = [];
    for (const id of ['one', 'two', 'three']) {
      const batch = await create([id]);
      created.unshift(batch.id);
      const { status } = await client.batches.cancel(batch.id);
      assert.ok(['cancelling', 'cancelled'].includes(status), status);
    }
    const listed: string[] = [];
    for await (const { id } of client.batches.list({ limit: 2 })) listed.push(id);
    assert.deepEqual(listed.slice(0, 3), created);
    assert.equal(listed.length, 5);
  });

  it('gets the errors that it knows', async () => {
    await assert.rejects(client.batches.retrieve('batch_none'), openai.NotFoundError);
    await assert.rejects(
      client.batches.create({ input_file_id: 'file-none', endpoint: IMAGES, completion_window: '24h' }),
      openai.BadRequestError,
    );
  });
});

/** The responses of `/v1/batches`, and the files of results, of a running Darkroom, validated by OpenAI's own document. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { BatchClient, lineOf } from '../e2e/batch-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { OPENAI_DOCUMENT, openAiSchemas } from './openai-schemas.ts';
import { whyNoPackage } from './python-environment.ts';

const IMAGES = '/v1/images/generations';
const VIDEOS = '/v1/videos';
const IMAGE = { model: 'darkroom/scene', prompt: 'a lake', size: '1024x1024' };
const VIDEO = { model: 'darkroom/motion', prompt: 'a lake', seconds: '1', size: '1280x720' };

type Schemas = Awaited<ReturnType<typeof openAiSchemas>>;
interface SeenBatch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id?: string;
  readonly error_file_id?: string;
}

describe("OpenAI's document, of batches", { skip: whyNoPackage(OPENAI_DOCUMENT), timeout: 600_000 }, () => {
  let darkroom: Darkroom;
  let account: TestAccount;
  let batches: BatchClient;
  let schemas: Schemas;
  before(async () => {
    schemas = await openAiSchemas();
    darkroom = await startDarkroom();
    account = await darkroom.createAccount();
    batches = new BatchClient(darkroom.url, account);
  });
  after(() => darkroom?.stop());

  function assertValid(name: string, value: unknown): void {
    const validate = schemas(name);
    assert.ok(validate(value), JSON.stringify([name, value, validate.errors?.slice(0, 5)]));
  }

  /** Requests something, whose response has to be one of the document. */
  async function accept<Answer = SeenBatch>(
    name: string,
    method: string,
    path: string,
    sent?: object,
  ): Promise<Answer> {
    const { status, body } = await account.client.send(method, path, sent);
    assert.equal(status === 200, name !== 'ErrorResponse', JSON.stringify(body));
    assertValid(name, body);
    return body as unknown as Answer;
  }

  async function create(endpoint: string, lines: readonly string[]): Promise<SeenBatch> {
    const input = await batches.upload(lines);
    const body = { input_file_id: input, endpoint, completion_window: '24h', metadata: { order: '7' } };
    return accept('Batch', 'POST', '/v1/batches', body);
  }

  /** Reads a batch until it has ended. @returns its last state, and the statuses on the way. */
  async function follow(id: string): Promise<SeenBatch & { readonly seen: ReadonlySet<string> }> {
    const seen = new Set<string>();
    let batch = await accept('Batch', 'GET', `/v1/batches/${id}`);
    await waitFor('the end of the batch', async () => {
      seen.add(batch.status);
      if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) return true;
      batch = await accept('Batch', 'GET', `/v1/batches/${id}`);
      return false;
    });
    return { ...batch, seen };
  }

  const imageLines = (count: number) => Array.from({ length: count }, (_, index) => lineOf(IMAGES, `${index}`, IMAGE));

  it('accepts a batch from its creation to its end, its files, and what is in them', async () => {
    const lines = [...imageLines(6), lineOf(IMAGES, 'wrong', { ...IMAGE, size: '7x7' }), 'no JSON'];
    const { id, status } = await create(IMAGES, lines);
    assert.equal(status, 'validating');
    const ended = await follow(id);

    assert.equal(ended.status, 'completed');
    assert.ok(ended.seen.has('in_progress'), [...ended.seen].join());
    for (const file of [ended.output_file_id, ended.error_file_id])
      await accept('OpenAIFile', 'GET', `/v1/files/${file}`);
    const results = await batches.results(ended.output_file_id);
    assert.equal(results.length, 6);
    for (const { response } of results) assertValid('ImagesResponse', response?.body);
    const errors = await batches.results(ended.error_file_id);
    assert.equal(errors.length, 2);
    for (const { response } of errors) assertValid('ErrorResponse', response?.body);
    await accept('ListFilesResponse', 'GET', '/v1/files?purpose=batch_output');
  });

  it('accepts the videos of a batch', async () => {
    const { id } = await create(VIDEOS, [lineOf(VIDEOS, 'a', VIDEO)]);
    const { output_file_id: output } = await follow(id);
    const results = await batches.results(output);

    assert.equal(results.length, 1);
    for (const { response } of results) assertValid('VideoResource', response?.body);
  });

  it('accepts batches that failed, expired or were cancelled', async () => {
    const twice = [lineOf(IMAGES, 'a', IMAGE), lineOf(IMAGES, 'a', IMAGE)];
    assert.equal((await follow((await create(IMAGES, twice)).id)).status, 'failed');

    const late = await create(IMAGES, imageLines(60));
    const { database } = darkroom.testDatabase;
    await database.query({ name: 'end_window', text: 'UPDATE batches SET expires_at = now() WHERE id = $1' }, [
      late.id,
    ]);
    assert.equal((await follow(late.id)).status, 'expired');

    const { id } = await create(IMAGES, imageLines(60));
    await waitFor('it is in progress', async () => (await batches.get(id)).status === 'in_progress');
    const cancelled = await accept('Batch', 'POST', `/v1/batches/${id}/cancel`);
    assert.equal(cancelled.status, 'cancelling');
    assert.equal((await follow(id)).status, 'cancelled');
  });

  it('accepts lists, also an empty one, and pages', async () => {
    const first = await accept<{ last_id: string; has_more: boolean }>(
      'ListBatchesResponse',
      'GET',
      '/v1/batches?limit=2',
    );
    assert.equal(first.has_more, true);
    await accept('ListBatchesResponse', 'GET', `/v1/batches?after=${first.last_id}`);
    account = await darkroom.createAccount();
    await accept('ListBatchesResponse', 'GET', '/v1/batches');
  });

  it('accepts what is rejected', async () => {
    const body = { input_file_id: 'file-none', endpoint: IMAGES, completion_window: '24h' };
    await accept('ErrorResponse', 'POST', '/v1/batches', body);
    await accept('ErrorResponse', 'POST', '/v1/batches', { ...body, endpoint: '/v1/none' });
    await accept('ErrorResponse', 'GET', '/v1/batches/batch_none');
    await accept('ErrorResponse', 'POST', '/v1/batches/batch_none/cancel');
    await accept('ErrorResponse', 'GET', '/v1/batches?after=batch_none');
  });

  it('rejects what is none of them', () => {
    for (const name of ['Batch', 'ListBatchesResponse', 'ErrorResponse'])
      assert.equal(schemas(name)({ id: 'x' }), false);
  });
});

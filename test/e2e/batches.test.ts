/** Batches from their file to their results, with a real Temporal, PostgreSQL, api and worker. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { answerOf } from '../support/busy-server.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { TASKS, countTasks, lineOf, newBatchClient, taskLine } from './batch-client.ts';
import type { AccountOptions } from './batch-client.ts';

/** The scenes of a built-in model, whose lines of batches have a lower price. */
const REDUCED = 'test/reduced';

/** @returns the directory with its file. */
async function writeReducedModel(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
  const scene = JSON.parse(await readFile(packageFile('models/scene.json'), 'utf8')) as object;
  const pricing = { unit: 'image', usd: '0.013', batchFactor: '0.4375' };
  await writeFile(path.join(directory, 'reduced.json'), JSON.stringify({ ...scene, name: REDUCED, pricing }));
  return directory;
}

describe('batches', () => {
  let darkroom: Darkroom;
  let modelsDir: string;
  before(async () => {
    modelsDir = await writeReducedModel();
    darkroom = await startDarkroom({ environment: { MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  const newClient = (options?: AccountOptions) => newBatchClient(darkroom, options);
  const tasksOf = (account: TestAccount) => countTasks(darkroom, account);

  /** The price of an output, in micro-USD, as a task is held for it. */
  async function priceOf(model: string): Promise<bigint> {
    const { account } = await newClient();
    const answer = await account.client.send('POST', '/v1/tasks/estimate', { model, input: { prompt: 'a lake' } });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { maxCost } = answer.body.data as unknown as { maxCost: string };
    return BigInt(Math.round(Number(maxCost) * 1_000_000));
  }

  // Proves C10-20.
  it('makes a task of every line, and a file of the results', async () => {
    const { account, batches } = await newClient();
    const lines = [taskLine('a'), taskLine('b'), taskLine('c')];
    const created = await batches.create(TASKS, lines, { metadata: { order: '7' } });
    assert.equal(created.status, 'validating');
    assert.equal(created.expires_at, created.created_at + 86_400);
    const ended = await batches.waitForEnd(created.id);
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    assert.deepEqual(ended.request_counts, { total: 3, completed: 3, failed: 0 });
    assert.deepEqual(ended.metadata, { order: '7' });
    assert.equal(ended.error_file_id, undefined);
    const results = await batches.results(ended.output_file_id);
    assert.deepEqual(
      results.map((line) => line.custom_id),
      ['a', 'b', 'c'],
    );
    for (const { response, error } of results) {
      assert.equal(error, null);
      assert.equal(response?.status_code, 200);
      const task = response.body.data as { taskId: string; status: string; output: { url: string }[] };
      assert.equal(task.taskId, response.request_id);
      assert.equal(task.status, 'success');
      assert.equal((await fetch(task.output[0]?.url ?? '')).status, 200);
    }
    assert.equal(await tasksOf(account), 3);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('has its tasks wait behind all others, where they wait for a worker', async () => {
    const { account, batches } = await newClient();
    const [result] = await batches.results((await batches.run(TASKS, [taskLine('a')])).output_file_id);
    const { body } = await account.client.send('POST', '/v1/tasks', {
      model: 'darkroom/scene',
      input: { prompt: 'a lake' },
    });
    const priorityOf = async (taskId: unknown) => {
      const { raw } = await answerOf(() => darkroom.temporal.workflow.getHandle(String(taskId)).describe());
      const { priorityKey, fairnessKey } = raw.workflowExecutionInfo?.priority ?? {};
      return [priorityKey, fairnessKey];
    };

    assert.deepEqual(await priorityOf(result?.response?.request_id), [4, account.id]);
    assert.deepEqual(await priorityOf(body.data.taskId), [0, account.id]);
  });

  // Proves C10-20.
  it('answers a wrong line with an error of its own', async () => {
    const { account, batches } = await newClient();
    const lines = [
      taskLine('good'),
      '{"custom_id":',
      '',
      lineOf('/v1/videos', 'elsewhere', {}),
      lineOf(TASKS, 'unknown', { model: 'darkroom/none', input: { prompt: 'a lake' } }),
      lineOf(TASKS, 'invalid', { model: 'darkroom/scene', input: { prompt: 7 } }),
      JSON.stringify({ custom_id: 'get', method: 'GET', url: TASKS, body: {} }),
      JSON.stringify({ method: 'POST', url: TASKS, body: {} }),
    ];
    const ended = await batches.run(TASKS, lines);
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    assert.deepEqual(ended.request_counts, { total: 7, completed: 1, failed: 6 });
    assert.deepEqual(
      (await batches.results(ended.output_file_id)).map((line) => line.custom_id),
      ['good'],
    );
    const errors = await batches.results(ended.error_file_id);
    assert.deepEqual(
      errors.map((line) => [line.custom_id, line.response?.status_code, line.response?.body.error_code]),
      [
        [null, 400, 'INVALID_REQUEST'],
        ['elsewhere', 400, 'INVALID_REQUEST'],
        ['unknown', 400, 'MODEL_UNAVAILABLE'],
        ['invalid', 400, 'INVALID_REQUEST'],
        ['get', 400, 'INVALID_REQUEST'],
        [null, 400, 'INVALID_REQUEST'],
      ],
    );
    assert.equal(await tasksOf(account), 1);
  });

  it('makes images and videos, whose results refer to files', async () => {
    const { batches } = await newClient();
    const images = '/v1/images/generations';
    const image = { model: 'darkroom/scene', prompt: 'a lake', size: '1024x1024' };
    const made = await batches.run(images, [
      lineOf(images, 'image', image),
      lineOf(images, 'bytes', { ...image, response_format: 'b64_json' }),
      lineOf(images, 'stream', { ...image, stream: true }),
      lineOf(images, 'size', { ...image, size: '3x3' }),
    ]);
    assert.deepEqual(made.request_counts, { total: 4, completed: 1, failed: 3 }, JSON.stringify(made));
    const [result] = await batches.results(made.output_file_id);
    const [file] = (result?.response?.body.data ?? []) as { url: string }[];
    assert.equal((await fetch(file?.url ?? '')).headers.get('content-type'), 'image/png');
    const errors = await batches.results(made.error_file_id);
    assert.deepEqual(
      errors.map(({ custom_id: id, response }) => [id, response?.status_code, response?.body.error?.param]),
      [
        ['bytes', 400, 'response_format'],
        ['stream', 400, 'stream'],
        ['size', 400, 'size'],
      ],
    );

    const edits = '/v1/images/edits';
    const bytes = await (await fetch(file?.url ?? '')).blob();
    const fileId = await batches.uploadFile('vision', bytes, 'lake.png');
    const edit = (id: string, image: object): string =>
      lineOf(edits, id, { model: 'darkroom/edit', prompt: 'make it brighter', images: [image] });
    const edited = await batches.run(edits, [
      edit('url', { image_url: file?.url }),
      edit('file', { file_id: fileId }),
      edit('data', { image_url: 'data:image/png;base64,AAAA' }),
      edit('none', { file_id: 'file-01JZ3V5W8Q4Y7N2K9M6B1C0D3F' }),
    ]);
    assert.deepEqual(edited.request_counts, { total: 4, completed: 2, failed: 2 }, JSON.stringify(edited));
    assert.deepEqual(
      (await batches.results(edited.error_file_id)).map(({ custom_id: id, response }) => [
        id,
        response?.status_code,
        response?.body.error?.param,
      ]),
      [
        ['data', 400, 'images.0.image_url'],
        ['none', 404, 'images.0.file_id'],
      ],
    );

    const videos = '/v1/videos';
    const clip = { model: 'darkroom/motion', prompt: 'a lake', seconds: '4' };
    const filmed = await batches.run(videos, [
      lineOf(videos, 'clip', clip),
      lineOf(videos, 'file', { ...clip, input_reference: { file_id: 'file-none' } }),
    ]);
    assert.deepEqual(filmed.request_counts, { total: 2, completed: 1, failed: 1 }, JSON.stringify(filmed));
    const [video] = await batches.results(filmed.output_file_id);
    assert.equal(video?.response?.body.status, 'completed');
    const content = await fetch(`${darkroom.url}/v1/videos/${video.response.request_id}/content`, {
      headers: { Authorization: `Bearer ${batches.key}` },
    });
    assert.equal(content.headers.get('content-type'), 'video/mp4');
  });

  it('answers lines of text models, for which responses are stored as usual', async () => {
    const { account, batches } = await newClient();
    const model = 'darkroom/conformance-text';
    const chat = '/v1/chat/completions';
    const asked = (id: string, more: object = {}): string =>
      lineOf(chat, id, { model, messages: [{ role: 'user', content: 'What is 17 * 3?' }], ...more });
    const answered = await batches.run(chat, [asked('a'), asked('b'), asked('stream', { stream: true })]);
    assert.deepEqual(answered.request_counts, { total: 3, completed: 2, failed: 1 }, JSON.stringify(answered));
    assert.equal(answered.model, model);
    assert.ok((answered.usage?.output_tokens ?? 0) > 0);
    const completions = await batches.results(answered.output_file_id);
    assert.deepEqual(
      completions.map(({ custom_id: id, response }) => [id, response?.status_code]),
      [
        ['a', 200],
        ['b', 200],
      ],
    );
    assert.match(JSON.stringify(completions[0]?.response?.body), /51/);

    const responses = '/v1/responses';
    const made = await batches.run(responses, [lineOf(responses, 'a', { model, input: 'What is 17 * 3?' })]);
    const [result] = await batches.results(made.output_file_id);
    assert.equal(result?.response?.body.status, 'completed', JSON.stringify(made));
    const stored = await account.client.send('GET', `/v1/responses/${result.response.request_id}`);
    assert.deepEqual(stored.body, result.response.body);
    await waitFor('all is settled', async () => {
      const [row] = await darkroom.testDatabase.database.query<{ held: bigint }>(
        {
          name: 'held_of_account',
          text: 'SELECT held_micro_usd AS held FROM account_counters WHERE account_id = $1',
        },
        [account.id],
      );
      return row?.held === 0n;
    });
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  // Proves C10-20.
  it('answers lines without balance with 402, and charges the others', async () => {
    // One image costs less than this, and two cost more.
    const one = await priceOf('darkroom/scene');
    const { account, batches } = await newClient({ usd: one + one / 2n });
    const ended = await batches.run(TASKS, [taskLine('a'), taskLine('b'), taskLine('c')]);
    assert.deepEqual(ended.request_counts, { total: 3, completed: 1, failed: 2 }, JSON.stringify(ended));
    const errors = await batches.results(ended.error_file_id);
    assert.deepEqual(
      errors.map(({ response }) => [response?.status_code, response?.body.error_code]),
      [
        [402, 'INSUFFICIENT_BALANCE'],
        [402, 'INSUFFICIENT_BALANCE'],
      ],
    );
    assert.equal(await tasksOf(account), 1);
  });

  // Proves C7-48.
  it('holds and captures the price of a line times the factor of its model', async () => {
    const { account, batches } = await newClient();
    const request = { model: REDUCED, input: { prompt: 'a lake' } };
    const ended = await batches.run(TASKS, [lineOf(TASKS, 'a', request), lineOf(TASKS, 'b', request)]);
    assert.deepEqual(ended.request_counts, { total: 2, completed: 2, failed: 0 }, JSON.stringify(ended));
    for (const { response } of await batches.results(ended.output_file_id)) {
      assert.ok(response !== null);
      const { billing } = response.body.data as { billing: object };
      // 0.013 times 0.4375 is 0.0056875.
      const [cost, priceFactor] = ['0.005688', '0.4375'];
      assert.deepEqual(billing, { currency: 'USD', held: cost, captured: cost, released: '0', priceFactor });
    }
    const estimate = await account.client.send('POST', '/v1/tasks/estimate', request);
    assert.equal((estimate.body.data as unknown as { maxCost: string }).maxCost, '0.013');
    const alone = await account.client.send('POST', TASKS, request);
    assert.equal(alone.status, 200, JSON.stringify(alone.body));
    const { taskId } = alone.body.data as unknown as { taskId: string };
    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}`);
    const { billing } = body.data as unknown as { billing: { held: string; priceFactor?: string } };
    assert.deepEqual([billing.held, billing.priceFactor], ['0.013', undefined]);
    const listed = await account.client.send('GET', `/v1/models/${REDUCED}`);
    assert.equal((listed.body as unknown as { pricing: { batchFactor?: string } }).pricing.batchFactor, '0.4375');
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  // Proves C10-21.
  it('fails as a whole where a custom_id occurs twice, or there is no line', async () => {
    const { account, batches } = await newClient();
    const twice = await batches.run(TASKS, [taskLine('a'), taskLine('b'), taskLine('a')]);
    assert.equal(twice.status, 'failed');
    assert.ok(twice.failed_at);
    assert.deepEqual(
      twice.errors?.data.map(({ code, line, param }) => ({ code, line, param })),
      [{ code: 'duplicate_custom_id', line: 3, param: 'custom_id' }],
    );
    const empty = await batches.run(TASKS, ['', ' ', '']);
    assert.deepEqual([empty.status, empty.errors?.data[0]?.code], ['failed', 'empty_file']);
    const tooMany = Array.from({ length: 50_001 }, () => '{}');
    const many = await batches.run(TASKS, tooMany);
    assert.deepEqual([many.status, many.errors?.data[0]?.code], ['failed', 'too_many_lines']);
    assert.equal(await tasksOf(account), 0);
  });
});

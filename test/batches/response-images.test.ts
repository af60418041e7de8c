/** Lines of `/v1/responses` with the built-in tool `image_generation`: the results name the tasks of the images. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Batch } from '../../src/batches/batch-record.ts';
import { ModelWithheldError } from '../../src/catalogue/catalogue.ts';
import { actualCost } from '../../src/text/money/price.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { lineOf } from '../e2e/batch-client.ts';
import { BackgroundRoom } from '../http/background-room.ts';
import { DRAW, TOOL, itemOf, settledCalls, textOf } from '../http/image-responses.ts';
import type { ResponseBody } from '../http/image-responses.ts';
import { madeImage, newestTask, tasksOf } from '../http/media-calls.ts';
import type { ServedAccount } from '../http/serve.ts';
import { callIdsOf, closeSettledLab, feed, openBatchLab } from './batch-lab.ts';
import type { BatchLab } from './batch-lab.ts';

const RESPONSES = '/v1/responses';
const FILE = 'the bytes of an image';
const BASE64 = Buffer.from(FILE).toString('base64');
const REDUCED = textDefinition({
  name: 'acme/reduced',
  pricing: { unit: 'token', inputUsd: '0.7', outputUsd: '3.3', batchFactor: '0.4375' },
});

const line = (id: string, changes: object = {}): string =>
  lineOf(RESPONSES, id, { model: REDUCED.name, input: DRAW, tools: [TOOL], max_output_tokens: 200, ...changes });

let lab: BatchLab;
let room: BackgroundRoom;
before(async () => {
  lab = await openBatchLab({ models: [REDUCED] });
  room = new BackgroundRoom(lab.served);
});
after(() => closeSettledLab(lab));

async function fed(
  account: ServedAccount,
  lines: readonly string[],
): Promise<{ batch: Batch; ids: readonly string[] }> {
  const batch = await lab.begin(account, RESPONSES, lines);
  await feed(lab.context, batch);
  return { batch, ids: await callIdsOf(lab, batch) };
}

/** Ends a batch. @returns the responses of its lines that succeeded, or else those of the others. */
async function resultsOf(account: ServedAccount, batch: Batch) {
  await lab.served.text.ledger.flush();
  assert.equal((await lab.advance(batch)).kind, 'ended');
  const { outputFileId, errorFileId } = await lab.read(batch);
  const lines = await lab.results(account, outputFileId ?? errorFileId);
  return lines.map(({ response }) => response ?? assert.fail());
}

describe('a line with the tool', () => {
  it('has the task of its image in the results, and the image in the stored response', async () => {
    const account = await lab.served.newAccount();
    const { batch, ids } = await fed(account, [line('a')]);
    const [id = ''] = ids;
    const running = room.attempt(id);
    const taskId = await newestTask(lab.served, account);
    await lab.served.succeedWith(taskId, [madeImage(FILE)]);
    assert.deepEqual(await running, { kind: 'ended' });

    const [result = assert.fail()] = await resultsOf(account, batch);
    const body = result.body as unknown as ResponseBody;
    const item = itemOf(body, 'image_generation_call');
    assert.deepEqual(
      [result.status_code, item['status'], item['result'], item['task_id']],
      [200, 'completed', null, taskId],
    );
    assert.match(textOf(body), /^The image was generated/);
    const stored = (await account.client.send('GET', `/v1/responses/${id}`)).body as unknown as ResponseBody;
    assert.deepEqual(
      stored.output,
      body.output.map((each) => (each === item ? { ...item, result: BASE64 } : each)),
    );
  });

  it('waits while its image model is withheld', async (test) => {
    const account = await lab.served.newAccount();
    const { batch, ids } = await fed(account, [line('a')]);
    const [id = ''] = ids;
    const withheld = test.mock.method(lab.served.room.catalogue, 'resolve', (name: string) => {
      throw new ModelWithheldError(name);
    });

    assert.equal((await room.attempt(id)).kind, 'wait');
    assert.equal((await lab.advance(batch)).kind, 'waits');
    assert.equal((await lab.read(batch)).waitingFor, 'model');

    withheld.mock.restore();
    const running = room.attempt(id);
    await lab.served.succeedWith(await newestTask(lab.served, account), [madeImage(FILE)]);
    assert.deepEqual(await running, { kind: 'ended' });
    assert.deepEqual(
      (await resultsOf(account, batch)).map(({ status_code }) => status_code),
      [200],
    );
  });

  it('has the reduced price for all turns of its text, and that of its model for the image', async () => {
    const account = await lab.served.newAccount();
    const { batch, ids } = await fed(account, [line('a')]);
    const running = room.attempt(ids[0] ?? '');
    const taskId = await newestTask(lab.served, account);
    await lab.served.succeedWith(taskId, [madeImage(FILE)]);
    await running;
    const [result = assert.fail()] = await resultsOf(account, batch);

    const [call] = await settledCalls(lab.served, account);
    const { usage } = result.body as unknown as ResponseBody & {
      readonly usage: { readonly input_tokens_details: { readonly cached_tokens: number } };
    };
    const tokens = {
      inputTokens: usage.input_tokens,
      cachedInputTokens: usage.input_tokens_details.cached_tokens,
      outputTokens: usage.output_tokens,
      reasoningTokens: 0,
    };
    assert.equal(call?.captured, actualCost(REDUCED.pricing, tokens, '0.4375'));
    assert.ok(call.held > call.captured);
    const { data: task } = (await account.client.get(taskId)).body;
    assert.equal(task.billing.captured, '0.01');
    const wire = (await account.client.send('GET', `/v1/batches/${batch.id}`)).body as unknown as {
      readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
    };
    assert.deepEqual([wire.usage.input_tokens, wire.usage.output_tokens], [usage.input_tokens, usage.output_tokens]);
  });

  it('finds its task again after an attempt that was lost, and an equal line has its own', async () => {
    const account = await lab.served.newAccount();
    const { batch, ids } = await fed(account, [line('a'), line('b')]);
    for (const [index, id] of ids.entries()) {
      const stopped = new AbortController();
      const lost = room.attempt(id, stopped.signal, stopped.signal);
      await newestTask(lab.served, account, index);
      stopped.abort(new Error('the process stops'));
      await assert.rejects(lost);
      await room.lose(id);
    }
    const tasks = await tasksOf(lab.served, account);
    for (const taskId of tasks) await lab.served.succeedWith(taskId, [madeImage(FILE)]);
    for (const id of ids) await room.attempt(id);

    const results = await resultsOf(account, batch);
    assert.deepEqual(
      results.map(({ body }) => itemOf(body as unknown as ResponseBody, 'image_generation_call')['task_id']),
      tasks,
    );
    assert.deepEqual(await tasksOf(lab.served, account), tasks);
    for (const id of ids) assert.deepEqual(await room.entries(id), ['hold', 'capture', 'release']);
    for (const taskId of tasks) assert.deepEqual(await room.entries(taskId), ['hold', 'capture']);
  });

  it('is an error where the tool is wrong, or its key may not create the task, and nothing is held', async () => {
    const account = await lab.served.newAccount();
    const key = await account.newKey({ models: [REDUCED.name] });
    const limited = { ...account, client: key.client };
    const wrong = [{ ...TOOL, quality: 'high' }];
    const { batch, ids } = await fed(limited, [line('forbidden'), line('wrong', { tools: wrong })]);
    for (const id of ids) await room.attempt(id);
    const results = await resultsOf(account, batch);
    assert.deepEqual(
      results.map(({ status_code: status, body }) => [status, (body['error'] as { param: string | null }).param]),
      [
        [403, null],
        [403, null],
      ],
    );
    const { batch: other, ids: others } = await fed(account, [line('wrong', { tools: wrong })]);
    for (const id of others) await room.attempt(id);
    const [rejected = assert.fail()] = await resultsOf(account, other);
    const { param } = rejected.body['error'] as { param: string };
    assert.deepEqual([rejected.status_code, param], [400, 'tools.0.quality']);
    assert.deepEqual(await settledCalls(lab.served, account, 0), []);
    assert.deepEqual(await tasksOf(lab.served, account), []);
  });
});

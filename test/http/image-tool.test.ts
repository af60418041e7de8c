/**
 * The built-in tool `image_generation` of responses with the offline text model: what the response contains, streamed
 * and not, what is stored, and what is charged for the text and for the image.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { memberOf } from '../../src/domain/json.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { textDefinition } from '../catalogue/definitions.ts';
import type { Message } from '../../src/text/request.ts';
import { decodeResponsesRequest } from '../../src/text/responses/decode-request.ts';
import type { ConversationItem } from '../../src/text/responses/items.ts';
import { MAX_EARLIER_IMAGES, withEarlierImages } from '../../src/http/text/task-images.ts';
import { DRAW, TOOL, bodyOf, failTask, itemOf, postResponse, settledCalls, textOf } from './image-responses.ts';
import type { ResponseBody } from './image-responses.ts';
import { eventsOf, inputOfTask, madeImage, newestTask, openCall, tasksOf } from './media-calls.ts';
import type { FailedAnswer } from './media-calls.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const FILE = 'the bytes of an image';
const BASE64 = Buffer.from(FILE).toString('base64');
const DONE = 'The image was generated (1024x1024, png), and the user sees it.';

let served: ServedApp;
before(async () => {
  served = await serveApp({
    models: [
      textDefinition({ name: 'acme/drawing', imageModel: 'acme/compatible' }),
      textDefinition({ name: 'acme/toolless', features: [] }),
    ],
  });
});
after(() => served.close());

/** A response whose image succeeds. */
async function drawn(account: ServedAccount, changes: object = {}) {
  const before = (await tasksOf(served, account)).length;
  const answering = postResponse(served, account.client.key, { ...changes });
  const taskId = await newestTask(served, account, before);
  await served.succeedWith(taskId, [madeImage(FILE)]);
  return { taskId, answer: await answering };
}

async function get(account: ServedAccount, path: string): Promise<string> {
  const answer = await fetch(`${served.url}${path}`, { headers: { Authorization: `Bearer ${account.client.key}` } });
  assert.equal(answer.status, 200);
  return answer.text();
}

describe('a response with an image', () => {
  it('has the image as an item, and then the message of the model', async () => {
    const account = await served.newAccount();
    const { taskId, answer } = await drawn(account, { tools: [{ ...TOOL, size: '1024x1024' }] });
    const body = bodyOf(answer);

    assert.equal(body.status, 'completed');
    assert.deepEqual(
      body.output.map((item) => item['type']),
      ['image_generation_call', 'message'],
    );
    const { id, ...item } = itemOf(body, 'image_generation_call');
    assert.match(String(id), /^ig_[0-9A-Za-z]+_0$/);
    assert.deepEqual(item, {
      type: 'image_generation_call',
      status: 'completed',
      result: BASE64,
      task_id: taskId,
      revised_prompt: 'Generate an image of a red fox in the snow',
      size: '1024x1024',
      output_format: 'png',
    });
    assert.equal(textOf(body), DONE);
    assert.deepEqual(body.tools, [{ ...TOOL, size: '1024x1024' }]);
    assert.equal(answer.headers['x-darkroom-task-id'], taskId);
    assert.deepEqual(await inputOfTask(served, taskId), {
      prompt: 'Generate an image of a red fox in the snow',
      resolution: '1k',
    });
  });

  it('charges the tokens of all turns once, and the image as a task', async () => {
    const account = await served.newAccount();
    const { taskId, answer } = await drawn(account, { tools: [{ ...TOOL, model: 'acme/compatible' }] });
    const { id, usage } = bodyOf(answer);

    const [call] = await settledCalls(served, account);
    assert.equal(call?.id, id);
    assert.deepEqual([call.input, call.output, call.isEstimated], [usage.input_tokens, usage.output_tokens, false]);
    assert.ok(call.held > call.captured, `${call.held} was held`);
    // The second turn reads the beginning of the conversation again, some of it from the cache.
    assert.ok(call.captured <= BigInt(usage.input_tokens + 4 * usage.output_tokens));
    const { data: task } = (await account.client.get(taskId)).body;
    assert.equal(task.billing.captured, '0.01');
    assert.deepEqual((task as unknown as { metadata: object }).metadata, { response_id: id });
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  it('uses the image model of the file of the text model, unless the tool names one', async () => {
    const account = await served.newAccount();
    const { answer } = await drawn(account, { model: 'acme/drawing', tools: [{ type: 'image_generation' }] });
    assert.equal(itemOf(bodyOf(answer), 'image_generation_call')['status'], 'completed');
  });

  it('streams the steps of the image, in the order of their numbers', async () => {
    const account = await served.newAccount();
    const { taskId, answer } = await drawn(account, { stream: true, tools: [{ ...TOOL, partial_images: 2 }] });
    const events = eventsOf({ text: answer.text.replace('data: [DONE]\n\n', '') });

    assert.deepEqual(
      events.map(({ data }) => data['sequence_number']),
      events.map((_, index) => index),
    );
    assert.deepEqual(
      events.map(({ event }) => event).filter((event) => event !== 'response.output_text.delta'),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.image_generation_call.in_progress',
        'response.image_generation_call.generating',
        'response.image_generation_call.completed',
        'response.output_item.done',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
    );
    const [added, inProgress, generating, completed, done] = events.slice(2, 7).map(({ data }) => data);
    const { id, ...begun } = memberOf(added, 'item') as Record<string, unknown>;
    assert.deepEqual(begun, { type: 'image_generation_call', status: 'in_progress', result: null });
    for (const event of [inProgress, generating, completed]) {
      assert.deepEqual([event?.['item_id'], event?.['output_index']], [id, 0]);
    }
    assert.equal(generating?.['task_id'], taskId);
    assert.equal(memberOf(memberOf(done, 'item'), 'result'), BASE64);
    const response = memberOf(events.at(-1)?.data, 'response') as ResponseBody;
    assert.equal(itemOf(response, 'image_generation_call')['result'], BASE64);
    assert.match(answer.text, /data: \[DONE\]\n\n$/);

    assert.equal(await get(account, `/v1/responses/${response.id}?stream=true`), answer.text);
  });

  it('is stored without the image, and read with it until the image is deleted', async () => {
    const account = await served.newAccount();
    const { taskId, answer } = await drawn(account);
    const body = bodyOf(answer);
    const read = async () => JSON.parse(await get(account, `/v1/responses/${body.id}`)) as ResponseBody;
    assert.deepEqual(await read(), body);
    const [row] = await served.room.rows<{ text: string }>(
      `SELECT (row_to_json(r))::text AS text FROM text_responses r WHERE id = $1`,
      body.id,
    );
    assert.ok(row !== undefined && !row.text.includes(BASE64));

    const { data: task } = (await account.client.get(taskId)).body;
    await account.client.send('DELETE', `/v1/storages/${task.output?.[0]?.id}`);
    const item = itemOf(await read(), 'image_generation_call');
    assert.deepEqual([item['status'], item['result'], item['task_id']], ['completed', null, taskId]);
  });

  it('is not read for another account, and its task cannot be named by a client', async () => {
    const account = await served.newAccount();
    const { taskId } = await drawn(account);
    const other = await served.newAccount();
    const item = { type: 'image_generation_call', id: 'ig_x', status: 'completed', result: null, task_id: taskId };
    const continued = await postResponse(served, other.client.key, {
      tools: [],
      input: [item, { role: 'user', content: 'What is in the image?' }],
    });
    const { id } = bodyOf(continued);
    assert.ok(!continued.text.includes(BASE64));
    const items = await get(other, `/v1/responses/${id}/input_items`);
    assert.ok(!items.includes(BASE64) && !items.includes(taskId));
  });
});

describe('the choice of the tool', () => {
  it('forces an image', async () => {
    const account = await served.newAccount();
    const choices = [
      { type: 'image_generation' },
      'required',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'image_generation' }] },
    ];
    for (const tool_choice of choices) {
      const { answer } = await drawn(account, { input: 'What is 17 * 3?', tool_choice });
      const body = bodyOf(answer);
      assert.equal(itemOf(body, 'image_generation_call')['result'], BASE64);
      assert.equal(textOf(body), DONE);
      assert.deepEqual(body.tool_choice, tool_choice);
    }
  });

  it('prevents one', async () => {
    const account = await served.newAccount();
    const get_weather = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };
    const choices = [
      'none',
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'get_weather' }] },
    ];
    for (const tool_choice of choices) {
      const answer = await postResponse(served, account.client.key, { tools: [TOOL, get_weather], tool_choice });
      assert.deepEqual(
        bodyOf(answer).output.map((item) => item['type']),
        ['message'],
      );
    }
    assert.deepEqual(await tasksOf(served, account), []);
  });
});

const own = (changes: object) => ({ tools: [{ ...TOOL, ...changes }] });
const rejected: readonly (readonly [changes: object, param: string, code: string])[] = [
  [{ tools: [{ type: 'image_generation' }] }, 'tools.0.model', 'missing_required_parameter'],
  [own({ model: 'acme/none' }), 'tools.0.model', 'model_not_found'],
  [own({ model: 'acme/images' }), 'tools.0.model', 'model_not_found'],
  [own({ model: 'acme/text' }), 'tools.0.model', 'model_not_found'],
  [own({ model: 7 }), 'tools.0.model', 'invalid_type'],
  [own({ size: '512x512' }), 'tools.0.size', 'invalid_value'],
  [own({ size: '' }), 'tools.0.size', 'empty_string'],
  [own({ quality: 'high' }), 'tools.0.quality', 'unsupported_parameter'],
  [own({ background: 'transparent' }), 'tools.0.background', 'unsupported_parameter'],
  [own({ output_format: 'webp' }), 'tools.0.output_format', 'unsupported_parameter'],
  [own({ output_compression: 101 }), 'tools.0.output_compression', 'integer_above_max_value'],
  [own({ partial_images: 2 }), 'tools.0.partial_images', 'unsupported_value'],
  [own({ action: 'edit' }), 'tools.0.action', 'unsupported_parameter'],
  [own({ action: 'paint' }), 'tools.0.action', 'unsupported_value'],
  [own({ input_fidelity: 'high' }), 'tools.0.input_fidelity', 'unsupported_parameter'],
  [own({ input_image_mask: { file_id: 'file-1' } }), 'tools.0.input_image_mask', 'unsupported_parameter'],
  [own({ seed: 7 }), 'tools.0.seed', 'unknown_parameter'],
  [{ tools: [TOOL, TOOL] }, 'tools.1', 'invalid_value'],
  [{ tools: [{ type: 'web_search' }] }, 'tools.0.type', 'unsupported_parameter'],
  [{ tools: [], tool_choice: { type: 'image_generation' } }, 'tool_choice.type', 'invalid_value'],
  [{ tool_choice: { type: 'function', name: 'image_generation' } }, 'tool_choice.name', 'invalid_value'],
  [{ model: 'acme/toolless' }, 'tools', 'unsupported_parameter'],
  [{ input: [{ type: 'image_generation_call', result: 'no base64!' }] }, 'input.0.result', 'invalid_value'],
  [{ input: [{ type: 'image_generation_call', status: 'done' }] }, 'input.0.status', 'invalid_value'],
];
describe('a request with the tool', () => {
  for (const [changes, param, code] of rejected) {
    it(`is rejected with ${JSON.stringify(changes)}, and nothing is held`, async () => {
      const account = await served.newAccount();
      const answer = await postResponse(served, account.client.key, { ...changes });

      assert.equal(answer.status, 400, answer.text);
      const { error } = JSON.parse(answer.text) as FailedAnswer;
      assert.deepEqual([error.param, error.code], [param, code], answer.text);
      assert.deepEqual(await settledCalls(served, account, 0), []);
      assert.deepEqual(await tasksOf(served, account), []);
    });
  }

  it('needs a key that may create tasks of the image model', async () => {
    const account = await served.newAccount();
    const { client: textOnly } = await account.newKey({ scopes: ['text:write'] });
    const { client: ofOneModel } = await account.newKey({ models: ['acme/text'] });
    for (const { key } of [textOnly, ofOneModel]) {
      const answer = await postResponse(served, key);
      assert.equal(answer.status, 403, answer.text);
    }
    assert.deepEqual(await settledCalls(served, account, 0), []);
  });
});

describe('an image that cannot be generated', () => {
  it('is an item that says why, and the model knows', async () => {
    const account = await served.newAccount();
    const answering = postResponse(served, account.client.key);
    const taskId = await newestTask(served, account);
    await failTask(served, taskId, 'content_rejected');
    const body = bodyOf(await answering);

    const item = itemOf(body, 'image_generation_call');
    assert.deepEqual([item['status'], item['result'], item['task_id']], ['failed', null, taskId]);
    const { code, message } = item['error'] as { code: string; message: string };
    assert.equal(code, 'moderation_blocked');
    assert.equal(textOf(body), `No image was generated: ${message}`);
    assert.equal(body.status, 'completed');
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  it('has no completed event, and its stream can be sent again', async () => {
    const account = await served.newAccount();
    const answering = postResponse(served, account.client.key, { stream: true });
    await failTask(served, await newestTask(served, account), 'provider_error');
    const { text } = await answering;

    assert.ok(!text.includes('image_generation_call.completed'));
    const id = /"id":"(resp_\w+)"/.exec(text)?.[1] ?? '';
    assert.equal(await get(account, `/v1/responses/${id}?stream=true`), text);
  });

  it('fails without a task where there is no balance for it', async () => {
    const expensive = { tools: [{ ...TOOL, size: '2048x2048' }], max_output_tokens: 200, max_tool_calls: 1 };
    const poor = await served.newAccount({ microUsd: 20_000n });
    const failed = bodyOf(await postResponse(served, poor.client.key, expensive));

    const { task_id: taskId, status, error } = itemOf(failed, 'image_generation_call');
    assert.deepEqual([taskId, status, (error as { code: string }).code], [undefined, 'failed', 'insufficient_quota']);
    assert.match(textOf(failed), /^No image was generated: /);
    assert.deepEqual(await tasksOf(served, poor), []);
  });

  it('fails where the spend cap of the key has no room for it', async () => {
    const account = await served.newAccount();
    const { client } = await account.newKey({ spendCaps: { totalMicroUsd: 20_000n } });
    const body = bodyOf(
      await postResponse(served, client.key, {
        tools: [{ ...TOOL, size: '2048x2048' }],
        max_output_tokens: 200,
        max_tool_calls: 1,
      }),
    );
    const { status, error } = itemOf(body, 'image_generation_call');
    assert.deepEqual([status, (error as { code: string }).code], ['failed', 'insufficient_quota']);
  });
});

describe('a client that disconnects while the image is generated', () => {
  for (const stream of [false, true]) {
    it(`pays what it was sent, and the task continues (stream: ${stream})`, async () => {
      const account = await served.newAccount();
      const body = { model: 'acme/text', input: DRAW, tools: [TOOL], stream };
      const call = openCall(served, account, '/v1/responses', body);
      const taskId = await newestTask(served, account);
      if (stream) await waitFor('the image is announced', () => call.text().includes(taskId));
      call.outgoing.destroy();

      const [settled] = await settledCalls(served, account);
      assert.ok(settled !== undefined && settled.captured > 0n && settled.captured < settled.held);
      await served.succeedWith(taskId, [madeImage(FILE)]);
      assert.equal((await account.client.get(taskId)).body.data.status, 'success');
      assert.deepEqual(await tasksOf(served, account), [taskId]);
      assert.deepEqual(await verifyLedger(served.room.database), []);
    });
  }
});

describe('a conversation with an image', () => {
  it('gives it to a model that takes images', async () => {
    const account = await served.newAccount();
    const { answer } = await drawn(account);
    const { id } = bodyOf(answer);
    const described = await postResponse(served, account.client.key, {
      tools: [],
      previous_response_id: id,
      input: 'And what is 17 * 3?',
    });
    assert.equal(textOf(bodyOf(described)), '17 * 3 = 51');
    const again = await postResponse(served, account.client.key, {
      tools: [],
      input: [...bodyOf(answer).output, { role: 'user', content: 'And what is 17 * 3?' }],
      store: false,
    });
    assert.equal(bodyOf(again).usage.input_tokens > 765, true);
    const reference = { type: 'item_reference', id: bodyOf(answer).output[0]?.['id'] };
    const referred = await postResponse(served, account.client.key, {
      tools: [],
      input: [reference, { role: 'user', content: 'And what is 17 * 3?' }],
    });
    assert.equal(bodyOf(referred).usage.input_tokens > 765, true);
    const [row] = await served.room.rows<{ text: string }>(
      `SELECT (row_to_json(r))::text AS text FROM text_responses r WHERE id = $1`,
      bodyOf(referred).id,
    );
    assert.ok(row !== undefined && !row.text.includes(BASE64));
  });

  it('gives the latest eight images, however many there are', async () => {
    const account = await served.newAccount();
    const { taskId } = await drawn(account);
    const caller = await served.http.authenticator.authenticate(`Bearer ${account.client.key}`);
    const conversation = Array.from({ length: 10 }, (_, index): ConversationItem => ({
      type: 'image_generation_call',
      id: `ig_${index}`,
      status: 'completed',
      result: null,
      task_id: taskId,
    }));
    const until = new AbortController();
    const model = { features: ['images' as const] };
    const earlier = { conversation, referenced: new Map<string, ConversationItem>() };
    const filled = await withEarlierImages(served.http, { caller, until: () => until.signal }, model, earlier);
    until.abort();
    assert.deepEqual(
      filled.conversation.map((item) => 'result' in item && item.result),
      [null, null, ...Array<string>(MAX_EARLIER_IMAGES).fill(BASE64)],
    );
  });

  it('gives its output alone to one that does not', () => {
    const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: BASE64 };
    const messages = (features: 'images'[]): readonly Message[] =>
      decodeResponsesRequest(
        { model: 'm', input: [item, { role: 'user', content: 'Thanks.' }] },
        { features },
        { conversation: [], referenced: new Map() },
      ).request.messages;
    assert.deepEqual(
      messages([]).map(({ role }) => role),
      ['assistant', 'tool', 'user'],
    );
    assert.deepEqual(
      messages(['images']).map(({ role }) => role),
      ['assistant', 'tool', 'user', 'user'],
    );
  });
});

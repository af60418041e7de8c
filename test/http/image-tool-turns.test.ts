/**
 * The turns of a model that calls the built-in tool `image_generation`, with a scripted upstream: what it is sent, what
 * the client gets, how many turns and images there are, and what is charged when a turn fails.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { prepareImageTool } from '../../src/http/text/image-tool.ts';
import { TextFailure } from '../../src/text/text-failure.ts';
import { decodeImageTool } from '../../src/text/tools/image-tool.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { textDefinition } from '../catalogue/definitions.ts';
import { HELLO, USAGE } from '../text/upstream/scripted-answers.ts';
import type { Json, Reply } from '../text/upstream/scripted-answers.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';
import { DRAW, TOOL, bodyOf, failTask, itemOf, postResponse, settledCalls, textOf } from './image-responses.ts';
import type { ResponseBody } from './image-responses.ts';
import { madeImage, newestTask, openCall, tasksOf } from './media-calls.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

let upstream: TestUpstream;
let served: ServedApp;
let account: ServedAccount;
before(async () => {
  upstream = await startTestUpstream();
  const behind = (name: string, apis: ('chat.completions' | 'responses')[]) =>
    textDefinition({ name, upstreams: [openaiUpstream(upstream.baseUrl, { id: name.slice(5), apis })] });
  served = await serveApp({
    models: [behind('acme/chat', ['chat.completions']), behind('acme/native', ['chat.completions', 'responses'])],
  });
});
after(async () => {
  await served.close();
  await upstream.close();
});
let from: number;
beforeEach(async () => {
  account = await served.newAccount();
  from = upstream.requests.length;
});

/** A turn that calls the function, once for each prompt. */
function calling(...prompts: readonly string[]): Reply {
  return {
    usage: USAGE,
    toolCalls: prompts.map((prompt, index) => ({
      id: `call_${index}`,
      name: 'image_generation',
      pieces: ['{"prompt":', `${JSON.stringify(prompt)}}`],
    })),
  };
}

const script = (...replies: readonly Reply[]): void => upstream.script(...replies.map((reply) => ({ reply })));
const sent = (): readonly Json[] => upstream.requests.slice(from).map(({ body }) => body);

/** The names of the functions that a request has. */
const namesIn = ({ tools }: Json = {}): readonly string[] =>
  (tools as { function: { name: string } }[]).map((tool) => tool.function.name);
const rolesIn = ({ messages }: Json = {}): readonly string[] =>
  (messages as { role: string }[]).map(({ role }) => role);

/** Sends a request, and ends a number of tasks for it. */
async function ask(changes: Json, images: number): Promise<RawAnswer> {
  const answering = postResponse(served, account.client.key, { model: 'acme/chat', ...changes });
  const tasks = (await tasksOf(served, account)).length;
  for (let image = 0; image < images; image++) {
    await served.succeedWith(await newestTask(served, account, tasks + image), [madeImage(`image ${image}`)]);
  }
  return answering;
}

/** Repeats a request as OpenAI's clients do. */
const retry = (changes: Json): Promise<RawAnswer> =>
  postResponse(served, account.client.key, { model: 'acme/chat', ...changes }, { 'X-Stainless-Retry-Count': '1' });

/** Whether the response of a task was received; undefined: nothing is known of it. */
async function received(taskId: string): Promise<boolean | undefined> {
  const [row] = await served.room.rows<{ isReceived: boolean }>(
    'SELECT received_at IS NOT NULL AS "isReceived" FROM awaited_responses WHERE task_id = $1',
    taskId,
  );
  return row?.isReceived;
}

const typesOf = ({ output }: ResponseBody): readonly unknown[] => output.map((item) => item['type']);

describe('a model behind an upstream', () => {
  for (const model of ['acme/chat', 'acme/native']) {
    it(`calls a function, and goes on with its output (${model})`, async () => {
      script({ ...calling('a fox'), text: ['Here it is:'], reasoning: ['Hm.'] }, HELLO);
      const body = bodyOf(await ask({ model, input: 'Draw a fox.' }, 1));

      assert.deepEqual(typesOf(body), ['reasoning', 'message', 'image_generation_call', 'message']);
      assert.equal(itemOf(body, 'image_generation_call')['revised_prompt'], 'a fox');
      assert.equal(textOf(body), 'Here it is:Hello, wörld 🌍!');
      const paths = upstream.requests.slice(from).map(({ path }) => path);
      assert.deepEqual(paths, ['/v1/chat/completions', '/v1/chat/completions']);
      const [first, second] = sent();
      assert.deepEqual(namesIn(first), ['image_generation']);
      assert.deepEqual(second?.['messages'], [
        { role: 'user', content: 'Draw a fox.' },
        {
          role: 'assistant',
          content: 'Here it is:',
          reasoning_content: 'Hm.',
          tool_calls: [
            { id: 'call_0', type: 'function', function: { name: 'image_generation', arguments: '{"prompt":"a fox"}' } },
          ],
        },
        {
          role: 'tool',
          tool_call_id: 'call_0',
          content: 'The image was generated (1024x1024, png), and the user sees it.',
        },
      ]);
      const total = USAGE.input + USAGE.output;
      assert.deepEqual(body.usage, {
        input_tokens: 2 * USAGE.input,
        input_tokens_details: { cached_tokens: 2 * USAGE.cached, cache_write_tokens: 0 },
        output_tokens: 2 * USAGE.output,
        output_tokens_details: { reasoning_tokens: 2 * USAGE.reasoning },
        total_tokens: 2 * total,
      });
      const [call] = await settledCalls(served, account);
      // A micro-dollar a token of input, a tenth for a cached one, and four for one of output.
      const due = Math.ceil(2 * (USAGE.input - USAGE.cached + USAGE.cached / 10 + 4 * USAGE.output));
      assert.deepEqual([call?.captured, call?.isEstimated], [BigInt(due), false]);
    });
  }

  it('pays for what was counted where the upstream reports no usage', async () => {
    const { usage: _, ...silent } = calling('a fox');
    script(silent, { text: ['Done.'] });
    const body = bodyOf(await ask({}, 1));
    const [call] = await settledCalls(served, account);
    assert.deepEqual(
      [call?.input, call?.output, call?.isEstimated],
      [body.usage.input_tokens, body.usage.output_tokens, true],
    );
    assert.ok(body.usage.output_tokens > 8, String(body.usage.output_tokens));
  });

  it('gets a name for the function that none of the functions of the client has', async () => {
    const own = { ...WEATHER, name: 'image_generation' };
    script(HELLO);
    await ask({ tools: [own, TOOL], tool_choice: { type: 'image_generation' } }, 0);
    const [first] = sent();
    assert.deepEqual(first?.['tool_choice'], { type: 'function', function: { name: 'image_generation_2' } });
    // A call of the client's own function is the client's.
    script(calling('a fox'));
    const body = bodyOf(await ask({ tools: [own, TOOL] }, 0));
    assert.deepEqual(typesOf(body), ['function_call']);
  });

  it('leaves calls of the functions of the client to the client', async () => {
    const [image] = calling('a fox').toolCalls ?? [];
    const weather = { id: 'call_w', name: 'get_weather', pieces: ['{}'] };
    script({ usage: USAGE, toolCalls: [weather, ...(image === undefined ? [] : [image])] });
    const body = bodyOf(await ask({ tools: [TOOL, WEATHER] }, 1));
    assert.deepEqual(typesOf(body), ['function_call', 'image_generation_call']);
    assert.equal(sent().length, 1);

    script(HELLO);
    const output = { type: 'function_call_output', call_id: 'call_w', output: 'Rain.' };
    const next = { tools: [TOOL, WEATHER], previous_response_id: body.id, input: [output] };
    assert.equal(bodyOf(await ask(next, 0)).status, 'completed');
    const roles = rolesIn(sent().at(-1));
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'user']);
  });
});

describe('the limits of a response', () => {
  it('are four images, in one turn or in several, and no more turns than that and one', async () => {
    script(calling('1', '2', '3', '4', '5', '6'), HELLO);
    const together = bodyOf(await ask({}, 4));
    assert.deepEqual(typesOf(together), [...Array<string>(4).fill('image_generation_call'), 'message']);

    from = upstream.requests.length;
    script(...['1', '2', '3', '4', '5', '6'].map((prompt) => calling(prompt)));
    const apart = bodyOf(await ask({}, 4));
    assert.deepEqual(typesOf(apart), Array<string>(4).fill('image_generation_call'));
    assert.equal(apart.status, 'completed');
    assert.equal(sent().length, 5);
    assert.equal(sent().at(-1)?.['tool_choice'], 'none');
    assert.equal((await tasksOf(served, account)).length, 8);
    const [, call] = await settledCalls(served, account, 2);
    assert.ok(call !== undefined && call.held > 5n * call.captured);
  });

  it('are those that the client sets', async () => {
    script(calling('1', '2'), HELLO);
    const body = bodyOf(await ask({ max_tool_calls: 1, tools: [TOOL, WEATHER] }, 1));
    assert.deepEqual(typesOf(body), ['image_generation_call', 'message']);
    const names = namesIn(sent().at(-1));
    assert.deepEqual(names, ['get_weather']);
  });

  it('include the output of all turns together', async () => {
    script(calling('a fox'), HELLO);
    bodyOf(await ask({ max_output_tokens: 20 }, 1));
    assert.deepEqual(
      sent().map((body) => body['max_tokens']),
      [20, 20 - USAGE.output],
    );
    script(calling('a fox'), HELLO);
    const cut = bodyOf(await ask({ max_output_tokens: USAGE.output }, 1));
    assert.deepEqual([cut.status, cut.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
    assert.deepEqual(typesOf(cut), ['image_generation_call']);
  });
});

describe('a call of the function', () => {
  for (const pieces of [['{"prompt":'], ['{}'], ['{"prompt":7}'], ['{"prompt":" "}'], ['[]'], ['null']]) {
    it(`fails with ${pieces[0]}, and the model goes on`, async () => {
      script({ usage: USAGE, toolCalls: [{ id: 'call_0', name: 'image_generation', pieces }] }, HELLO);
      const body = bodyOf(await ask({}, 0));
      const item = itemOf(body, 'image_generation_call');
      assert.deepEqual([item['status'], item['result']], ['failed', null]);
      assert.match(JSON.stringify(sent()[1]?.['messages']), /No image was generated: /);
      assert.deepEqual(await tasksOf(served, account), []);
    });
  }

  it('fails with a prompt that is too long, and the model learns why', async () => {
    script(calling('x'.repeat(2_001)), HELLO);
    const { error } = itemOf(bodyOf(await ask({}, 0)), 'image_generation_call');
    assert.match((error as { message: string }).message, /prompt/);
    assert.deepEqual(await tasksOf(served, account), []);
  });

  it('has no effect if the model was cut off', async () => {
    script({ ...calling('a fox'), finish: 'length' });
    const body = bodyOf(await ask({}, 0));
    assert.deepEqual([body.status, typesOf(body)], ['incomplete', []]);
    assert.deepEqual(await tasksOf(served, account), []);
  });

  it('creates one task, however often it is made', async () => {
    const caller = await served.http.authenticator.authenticate(`Bearer ${account.client.key}`);
    const tool = prepareImageTool(served.http, {
      caller,
      responseId: 'resp_1',
      textModel: textDefinition(),
      requested: decodeImageTool({ type: 'image_generation', model: 'acme/compatible' }, 0, 'f', {}),
      allowance: { hold: () => undefined, canHold: () => true },
      attempt: { waiter: 'req_1', isRetry: false, sent: {} },
    });
    const { signal } = new AbortController();
    const ids = await Promise.all(
      ['a fox', 'a fox', 'a wolf'].map((prompt) => tool.start({ index: 0, prompt }, signal)),
    );
    assert.equal(new Set(ids).size, 1);
    assert.deepEqual(await tasksOf(served, account), [ids[0]]);
    assert.notEqual(await tool.start({ index: 1, prompt: 'a fox' }, signal), ids[0]);
  });
});

describe('a turn that fails after an image', () => {
  it('costs nothing, and the image is in the response to the retry', async () => {
    upstream.script({ reply: calling('a fox') }, { status: 500, body: { error: { message: 'broken' } } });
    const answer = await ask({}, 1);
    assert.equal(answer.status, 503, answer.text);
    const [taskId] = await tasksOf(served, account);
    assert.equal(answer.headers['x-darkroom-task-id'], taskId);
    const [call] = await settledCalls(served, account);
    assert.equal(call?.captured, 0n);

    // The model writes another prompt this time.
    script(calling('a red fox'), HELLO);
    const body = bodyOf(await retry({}));
    const item = itemOf(body, 'image_generation_call');
    assert.deepEqual([item['task_id'], item['revised_prompt']], [taskId, undefined]);
    assert.deepEqual(await tasksOf(served, account), [taskId]);
    assert.equal((await account.client.get(String(taskId))).body.data.billing.captured, '0.01');
    assert.deepEqual(await verifyLedger(served.room.database), []);
  });

  it('ends a stream with the image in the response that failed', async () => {
    upstream.script({ reply: calling('a fox') }, { breaksAfter: 'request' });
    const { text } = await ask({ stream: true }, 1);
    assert.match(text, /event: response\.failed\n/);
    assert.match(text.slice(text.indexOf('event: response.failed')), /"type":"image_generation_call"/);
    assert.match(text, /data: \[DONE\]\n\n$/);
  });
});

describe('an automatic retry', () => {
  it('attaches to the image of a client that has disconnected, and pays for it once', async () => {
    script(calling('a fox'), HELLO);
    const body = { model: 'acme/chat', input: DRAW, tools: [TOOL] };
    const call = openCall(served, account, '/v1/responses', body);
    const taskId = await newestTask(served, account);
    call.outgoing.destroy();
    await settledCalls(served, account);
    script(calling('a wolf'), HELLO);
    const retrying = retry({});
    await served.succeedWith(taskId, [madeImage('one')]);
    assert.equal(itemOf(bodyOf(await retrying), 'image_generation_call')['task_id'], taskId);
    assert.deepEqual(await tasksOf(served, account), [taskId]);
  });

  it('creates a task of its own where the first response arrived, or its image failed', async () => {
    script(calling('a fox'), HELLO);
    bodyOf(await ask({}, 1));
    const [first = assert.fail()] = await tasksOf(served, account);
    // Five seconds later: a proxy may have lost the response until then.
    await waitFor('the response is recorded', async () => (await received(first)) === true);
    await served.room.rows(
      "UPDATE awaited_responses SET received_at = now() - interval '6 seconds' WHERE task_id = $1",
      first,
    );
    script(calling('a fox'), HELLO);
    const second = retry({});
    const failing = await newestTask(served, account, 1);
    await failTask(served, failing, 'provider_error');
    assert.equal(itemOf(bodyOf(await second), 'image_generation_call')['status'], 'failed');
    script(calling('a fox'), HELLO);
    const third = retry({});
    await served.succeedWith(await newestTask(served, account, 2), [madeImage('three')]);
    assert.equal(itemOf(bodyOf(await third), 'image_generation_call')['status'], 'completed');
  });

  it('is not what a request is without the mark of the client, or with another one', async () => {
    script(calling('a fox'), HELLO);
    const body = { model: 'acme/chat', input: DRAW, tools: [TOOL] };
    const call = openCall(served, account, '/v1/responses', body);
    await newestTask(served, account);
    call.outgoing.destroy();
    await settledCalls(served, account);
    script(calling('a fox'), HELLO);
    bodyOf(await ask({}, 1));
    script(calling('a fox'), HELLO);
    const other = retry({ max_output_tokens: 99 });
    await served.succeedWith(await newestTask(served, account, 2), [madeImage('three')]);
    bodyOf(await other);
    assert.equal((await tasksOf(served, account)).length, 3);
  });
});

describe('a process that stops while an image is generated', () => {
  let stopping: ServedApp;
  const stop = new AbortController();
  before(async () => {
    stopping = await serveApp({ stopSignal: stop.signal });
  });
  after(() => stopping.close());

  it('waits for the image without its event feed, and at its end says that it stops', async () => {
    const own = await stopping.newAccount();
    const first = postResponse(stopping, own.client.key);
    const taskId = await newestTask(stopping, own);
    stopping.http.feed.close();
    await stopping.succeedWith(taskId, [madeImage('late')]);
    assert.equal(itemOf(bodyOf(await first), 'image_generation_call')['status'], 'completed');

    const second = postResponse(stopping, own.client.key);
    const left = await newestTask(stopping, own, 1);
    stop.abort(new TextFailure('interrupted', 'the process stops'));
    const answer = await second;
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.headers['x-darkroom-task-id'], left);
    assert.equal((await own.client.get(left)).body.data.status, 'queued');
    const [, call] = await settledCalls(stopping, own, 2);
    assert.equal(call?.captured, 0n);
  });
});

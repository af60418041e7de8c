/** The official client of OpenAI, unmodified, against the text endpoints. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { textDefinition } from '../../catalogue/definitions.ts';
import { serveApp } from '../../http/serve.ts';
import type { ServedAccount, ServedApp } from '../../http/serve.ts';

const MODEL = 'acme/text';
const Person = z.object({ name: z.string(), age: z.number().int() });
const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;

let served: ServedApp;
let account: ServedAccount;
let client: OpenAI;
before(async () => {
  const upstreams = [{ protocol: 'embedded' as const, model: 'conformance', parameters: { tokensPerSecond: 20 } }];
  served = await serveApp({ models: [textDefinition({ name: 'acme/slow', upstreams })] });
  account = await served.newAccount();
  client = clientOf(account);
});
after(() => served.close());

function clientOf({ client: { key } }: ServedAccount, options: { maxRetries?: number } = {}): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${served.url}/v1`, ...options });
}

const user = (content: string) => [{ role: 'user' as const, content }];

describe('the client of OpenAI, for chat completions', () => {
  // Proves S4.4-3.
  it('creates one', async () => {
    const { data, response } = await client.chat.completions
      .create({ model: MODEL, messages: user('What is 17 * 3? Reply with only the number.') })
      .withResponse();
    assert.match(data.choices[0]?.message.content ?? '', /51/);
    assert.equal(data.usage?.total_tokens, (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
    assert.ok(response.headers.get('x-request-id'));
  });

  // Proves S4.4-4.
  it('streams one with its helper', async () => {
    const stream = client.chat.completions.stream({
      model: MODEL,
      messages: user('Count from 1 to 5.'),
      stream_options: { include_usage: true },
    });
    let deltas = '';
    stream.on('content', (delta) => {
      deltas += delta;
    });
    const completion = await stream.finalChatCompletion();
    assert.equal(completion.choices[0]?.message.content, deltas);
    assert.match(deltas, /1.*2.*3.*4.*5/s);
    assert.ok((completion.usage?.completion_tokens ?? 0) > 0);
  });

  it('parses a structured answer', async () => {
    const completion = await client.chat.completions.parse({
      model: MODEL,
      messages: user('Invent a person.'),
      response_format: zodResponseFormat(Person, 'person'),
    });
    assert.ok(Person.safeParse(completion.choices[0]?.message.parsed).success);
  });

  // Proves S4.4-1, C9-1.
  it('runs tools until there is an answer', async () => {
    const asked: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model: MODEL,
      messages: user('What is the weather in Paris?'),
      tools: [
        zodFunction({
          name: 'get_weather',
          description: 'Get the current weather for a city.',
          parameters: z.object({ city: z.string() }),
          function: ({ city }) => {
            asked.push(city);
            return `sunny, 21 degrees in ${city}`;
          },
        }),
      ],
    });
    const answer = await runner.finalContent();
    assert.deepEqual(asked, ['Paris']);
    assert.match(answer ?? '', /21/);
  });

  // Proves C9-1.
  it('calls only the allowed tools', async () => {
    const tools = ['get_weather', 'get_forecast'].map((name) => ({
      type: 'function' as const,
      function: { name, parameters: WEATHER },
    }));
    const call = async (name: string): Promise<readonly string[]> => {
      const completion = await client.chat.completions.create({
        model: MODEL,
        messages: user('What is the weather in Paris?'),
        tools,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name } }] },
        },
      });
      return (completion.choices[0]?.message.tool_calls ?? []).map((each) =>
        each.type === 'function' ? each.function.name : each.type,
      );
    };

    assert.deepEqual(await call('get_forecast'), ['get_forecast']);
    assert.deepEqual(await call('get_weather'), ['get_weather']);
  });

  it('aborts in the middle', async () => {
    const stream = await client.chat.completions.create({
      model: 'acme/slow',
      messages: user('Write a long essay about the sea.'),
      stream: true,
    });
    let chunks = 0;
    for await (const _ of stream) {
      chunks += 1;
      if (chunks === 4) stream.controller.abort();
    }
    // A client that was slow has received some more by then, which it still returns; the whole answer has hundreds.
    assert.ok(chunks >= 4 && chunks < 50, String(chunks));
  });

  // Proves S4.4-7, C1-8, C7-4, C9-12, C9-14.
  it('throws the class of each error', async () => {
    const bad = (client: OpenAI, changes: object) =>
      client.chat.completions.create({ model: MODEL, messages: user('hi'), ...changes });
    const strict = clientOf(account, { maxRetries: 0 });
    await assert.rejects(bad(strict, { model: 'acme/none' }), (error: unknown) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.deepEqual([error.code, error.param, error.type], ['model_not_found', 'model', 'invalid_request_error']);
      return true;
    });
    await assert.rejects(bad(strict, { temperature: 9 }), OpenAI.BadRequestError);
    const unauthenticated = new OpenAI({ apiKey: 'dk_live_unknown', baseURL: `${served.url}/v1`, maxRetries: 0 });
    await assert.rejects(bad(unauthenticated, {}), (error: unknown) => {
      assert.ok(error instanceof OpenAI.AuthenticationError);
      assert.equal(error.code, 'permission_denied');
      return true;
    });
    const reader = (await account.newKey({ scopes: ['tasks:read'] })).client.key;
    const forbidden = new OpenAI({ apiKey: reader, baseURL: `${served.url}/v1`, maxRetries: 0 });
    await assert.rejects(bad(forbidden, {}), OpenAI.PermissionDeniedError);
    const busy = clientOf(await served.newAccount({ textRequestsPerMinute: 1 }), { maxRetries: 0 });
    await bad(busy, {});
    await assert.rejects(bad(busy, {}), OpenAI.RateLimitError);
    await assert.rejects(strict.responses.retrieve('resp_none'), OpenAI.NotFoundError);
  });

  it('lists the models, and reads one', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.includes(MODEL));
    assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
  });
});

describe('the client of OpenAI, for responses', () => {
  // Proves S4.4-2, C9-2.
  it('creates one and continues it', async () => {
    const first = await client.responses.create({ model: MODEL, input: 'My name is Ada. Remember it.' });
    assert.equal(first.status, 'completed');
    const second = await client.responses.create({
      model: MODEL,
      input: 'What is my name? Reply with just the name.',
      previous_response_id: first.id,
    });
    assert.match(second.output_text, /Ada/);
    assert.equal((await client.responses.retrieve(first.id)).output_text, first.output_text);
    await client.responses.delete(first.id);
    await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
  });

  it('streams one with its helper', async () => {
    const stream = client.responses.stream({ model: MODEL, input: 'Count from 1 to 5.', reasoning: { effort: 'low' } });
    const types = new Set<string>();
    for await (const event of stream) types.add(event.type);
    const response = await stream.finalResponse();
    const [message] = response.output.filter((item) => item.type === 'message');
    assert.match(JSON.stringify(message?.content), /1.*2.*3.*4.*5/s);
    for (const type of ['response.created', 'response.output_text.delta', 'response.completed']) {
      assert.ok(types.has(type), type);
    }
    assert.ok(response.output.some(({ type }) => type === 'reasoning'));
  });

  // Proves C9-2.
  it('parses a structured answer, and a call of a tool', async () => {
    const parsed = await client.responses.parse({
      model: MODEL,
      input: 'Invent a person.',
      text: { format: zodTextFormat(Person, 'person') },
    });
    assert.ok(Person.safeParse(parsed.output_parsed).success);

    const tools = [{ type: 'function' as const, name: 'get_weather', parameters: WEATHER, strict: true }];
    const called = await client.responses.create({ model: MODEL, input: 'What is the weather in Paris?', tools });
    const call = called.output.find((item) => item.type === 'function_call');
    assert.ok(call);
    assert.deepEqual(JSON.parse(call.arguments), { city: 'Paris' });
    const answered = await client.responses.create({
      model: MODEL,
      previous_response_id: called.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny, 21 degrees' }],
      tools,
    });
    assert.match(answered.output_text, /21/);
  });
});

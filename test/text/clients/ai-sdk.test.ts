/** Vercel's AI SDK with its adapter for OpenAI-compatible servers, unmodified. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { serveApp } from '../../http/serve.ts';
import type { ServedApp } from '../../http/serve.ts';

let served: ServedApp;
let model: ReturnType<ReturnType<typeof createOpenAICompatible>>;
before(async () => {
  served = await serveApp();
  const { client } = await served.newAccount();
  const provider = createOpenAICompatible({
    name: 'darkroom',
    baseURL: `${served.url}/v1`,
    apiKey: client.key,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  model = provider('acme/text');
});
after(() => served.close());

const weather = tool({
  description: 'Get the current weather for a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny, 21 degrees in ${city}`,
});

describe('the AI SDK', () => {
  it('streams text and its usage', async () => {
    const { textStream, usage, finishReason } = streamText({ model, prompt: 'Count from 1 to 5.' });
    let text = '';
    for await (const delta of textStream) text += delta;
    assert.match(text, /1.*2.*3.*4.*5/s);
    assert.ok(((await usage).outputTokens ?? 0) > 0);
    assert.equal(await finishReason, 'stop');
  });

  // Proves S4.4-1.
  it('generates an object', async () => {
    const { object } = await generateObject({
      model,
      schema: z.object({ name: z.string(), age: z.number().int() }),
      prompt: 'Invent a person.',
    });
    assert.equal(typeof object.name, 'string');
    assert.ok(Number.isInteger(object.age));
  });

  // Proves C9-1.
  it('calls tools and continues with their results, streamed and not', async () => {
    const request = {
      model,
      tools: { get_weather: weather },
      stopWhen: stepCountIs(4),
      prompt: 'What is the weather in Paris?',
    };
    const { text, steps } = await generateText(request);
    assert.match(text, /21/);
    assert.deepEqual(steps[0]?.toolCalls[0]?.input, { city: 'Paris' });
    assert.match(await streamText(request).text, /21/);
  });

  // Proves S4.4-1.
  it('separates reasoning from text', async () => {
    const { text, reasoningText } = await generateText({
      model,
      prompt: 'What is 17 * 3? Reply with only the number.',
      providerOptions: { darkroom: { reasoningEffort: 'medium' } },
    });
    assert.match(text, /51/);
    assert.ok((reasoningText ?? '').length > 0);
  });
});

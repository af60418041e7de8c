/** LangChain's client of OpenAI, unmodified. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { HumanMessage } from '@langchain/core/messages';
import type { ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { serveApp } from '../../http/serve.ts';
import type { ServedApp } from '../../http/serve.ts';

let served: ServedApp;
let newModel: (useResponsesApi: boolean) => ChatOpenAI;
before(async () => {
  served = await serveApp();
  const { client } = await served.newAccount();
  newModel = (useResponsesApi) =>
    new ChatOpenAI({
      model: 'acme/text',
      apiKey: client.key,
      configuration: { baseURL: `${served.url}/v1` },
      useResponsesApi,
      maxRetries: 0,
    });
});
after(() => served.close());

const weather = tool(async ({ city }: { city: string }) => `sunny, 21 degrees in ${city}`, {
  name: 'get_weather',
  description: 'Get the current weather for a city.',
  schema: z.object({ city: z.string() }),
});

for (const useResponsesApi of [false, true]) {
  describe(`LangChain, ${useResponsesApi ? 'for responses' : 'for chat completions'}`, () => {
    // Proves S4.4-1.
    it('sends a request and gets the answer, whole and streamed', async () => {
      const model = newModel(useResponsesApi);
      const answer = await model.invoke('What is 17 * 3? Reply with only the number.');
      assert.match(answer.text, /51/);
      assert.ok(JSON.stringify(answer.usage_metadata).includes('output_tokens'));
      let text = '';
      for await (const chunk of await model.stream('Count from 1 to 5.')) text += chunk.text;
      assert.match(text, /1.*2.*3.*4.*5/s);
    });

    it('gets an object of its schema', async () => {
      const person = await newModel(useResponsesApi)
        .withStructuredOutput(z.object({ name: z.string(), age: z.number().int() }))
        .invoke('Invent a person.');
      assert.equal(typeof person.name, 'string');
      assert.ok(Number.isInteger(person.age));
    });

    // Proves C9-1.
    it('calls a tool and continues with its result', async () => {
      const model = newModel(useResponsesApi).bindTools([weather]);
      const question = new HumanMessage('What is the weather in Paris?');
      const called = await model.invoke([question]);
      const [call] = called.tool_calls ?? [];
      assert.deepEqual(call?.args, { city: 'Paris' });
      const result: ToolMessage = await weather.invoke(call);
      assert.match((await model.invoke([question, called, result])).text, /21/);
    });
  });
}

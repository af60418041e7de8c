/** `POST /v1/responses/compact` and `/v1/responses/input_tokens`, through OpenAI's client (contract §9.6). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import OpenAI from 'openai';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
let client: OpenAI;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
  client = new OpenAI({ apiKey: account.client.key, baseURL: `${served.url}/v1`, maxRetries: 0 });
});
after(() => served.close());

const model = 'acme/text';
const CONVERSATION = [
  { role: 'user' as const, content: 'My name is Ada.' },
  { role: 'assistant' as const, content: 'Noted: My name is Ada.' },
  { role: 'user' as const, content: 'I like trains.' },
];

describe('a conversation that is compacted', () => {
  it('is its messages of the user and a summary, and goes on from there', async () => {
    const compacted = await client.responses.compact({ model, input: CONVERSATION });

    assert.equal(compacted.object, 'response.compaction');
    assert.match(compacted.id, /^resp_/);
    assert.deepEqual(
      compacted.output.map((item) => item.type),
      ['message', 'message', 'compaction'],
    );
    assert.ok(compacted.usage.output_tokens > 0);
    const input = [
      ...compacted.output,
      { role: 'user', content: 'What is my name?' },
    ] as OpenAI.Responses.ResponseInput;
    const { output_text: text } = await client.responses.create({ model, input });
    assert.match(text, /Ada/);
  });

  it('may be a stored one, is a call that is paid, and is not stored itself', async () => {
    const first = await client.responses.create({ model, input: 'My name is Ada.' });
    const { id } = await client.responses.compact({ model, previous_response_id: first.id });
    const captured = () =>
      served.room.rows(`SELECT 1 FROM ledger_entries WHERE reference = $1 AND kind = 'capture'`, id);

    await waitFor('the call is paid', async () => (await captured()).length === 1);
    await assert.rejects(
      client.responses.retrieve(id),
      (error: unknown) => (error as { status: number }).status === 404,
    );
  });

  it('is rejected if it is from elsewhere', async () => {
    const input = [{ type: 'compaction' as const, encrypted_content: 'gAAAAA' }];
    const rejected = client.responses.create({ model, input });

    await assert.rejects(rejected, (error: unknown) => {
      const { status, param } = error as { status: number; param: string };
      assert.deepEqual([status, param], [400, 'input.0.encrypted_content']);
      return true;
    });
  });
});

describe('the input tokens of a request', () => {
  it('are those of the same response, and cost nothing', async () => {
    const before = await served.room.rows('SELECT id FROM text_calls WHERE account_id = $1', account.id);
    const counted = await client.responses.inputTokens.count({ model, input: CONVERSATION, instructions: 'Be brief.' });
    const after = await served.room.rows('SELECT id FROM text_calls WHERE account_id = $1', account.id);
    const { usage } = await client.responses.create({ model, input: CONVERSATION, instructions: 'Be brief.' });

    assert.deepEqual(counted, { object: 'response.input_tokens', input_tokens: usage?.input_tokens });
    assert.equal(after.length, before.length);
  });
});

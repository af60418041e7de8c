/**
 * Requests of foreign clients at OpenAI's endpoints (contract §9, §10): what changes nothing is accepted, where our own
 * endpoints reject it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { inputOfTask } from './media-calls.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type Json = Readonly<Record<string, unknown>>;

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

/** @param path with its query. */
function ask(method: string, path: string, body?: Json | FormData): Promise<Response> {
  const isForm = body instanceof FormData;
  return fetch(`${served.url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${account.client.key}`,
      Prefer: 'respond-async',
      ...(isForm || body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
}

describe("an empty string that may be left out, at OpenAI's endpoints", () => {
  const bodies: readonly (readonly [path: string, body: Json, empty: Json])[] = [
    [
      '/v1/images/generations',
      { model: 'acme/compatible', prompt: 'a fox' },
      { size: '', quality: '', background: '', output_format: '', response_format: '', style: '', user: '', n: '' },
    ],
    [
      '/v1/images/edits',
      { model: 'acme/compatible-edit', prompt: 'a fox' },
      { images: [{ image_url: 'https://example.com/a.png', file_id: '' }], quality: '', input_fidelity: '', user: '' },
    ],
    [
      '/v1/audio/speech',
      { model: 'acme/compatible-speech', input: 'Hello.', voice: 'alloy' },
      { instructions: '', response_format: '', stream_format: '', speed: '' },
    ],
    ['/v1/videos', { model: 'acme/compatible-video', prompt: 'a fox' }, { seconds: '', size: '' }],
    [
      '/v1/chat/completions',
      { model: 'acme/text', messages: [{ role: 'user', content: 'Hi.' }] },
      {
        user: '',
        reasoning_effort: '',
        service_tier: '',
        stop: '',
        tool_choice: '',
        verbosity: '',
        temperature: '',
        max_tokens: '',
        stream: '',
      },
    ],
    [
      '/v1/responses',
      { model: 'acme/text', input: 'Hi.' },
      {
        instructions: '',
        previous_response_id: '',
        prompt: '',
        reasoning: { effort: '', summary: '' },
        truncation: '',
        user: '',
      },
    ],
  ];
  for (const [path, body, empty] of bodies) {
    it(`is as if not given: ${path}`, async () => {
      const answer = await ask('POST', path, { ...body, ...empty });

      assert.ok([200, 202].includes(answer.status), await answer.text());
    });
  }

  it('leaves the required ones required', async () => {
    for (const member of ['model', 'prompt']) {
      const body = { model: 'acme/compatible', prompt: 'a fox', [member]: '' };
      const answer = await ask('POST', '/v1/images/generations', body);
      const { error } = (await answer.json()) as { error: { param: string; code: string } };

      assert.deepEqual([answer.status, error.param, error.code], [400, member, 'empty_string']);
    }
  });

  it('creates the task that the request without them creates', async () => {
    const body = { model: 'acme/compatible', prompt: 'a fox', size: '', user: '' };
    const taskId = (await ask('POST', '/v1/images/generations', body)).headers.get('x-darkroom-task-id') ?? '';

    assert.deepEqual(await inputOfTask(served, taskId), { prompt: 'a fox' });
  });

  it('is as if not given in a form', async () => {
    const form = new FormData();
    form.append('model', 'acme/compatible-video');
    form.append('prompt', 'a fox');
    for (const name of ['seconds', 'size', 'input_reference', 'input_reference[file_id]']) form.append(name, '');
    const answer = await ask('POST', '/v1/videos', form);

    assert.equal(answer.status, 200, await answer.text());
  });

  it('is what it is at our own endpoints', async () => {
    const answer = await ask('POST', '/v1/tasks', {
      model: 'acme/compatible',
      maxCost: '',
      input: { prompt: 'a fox' },
    });

    assert.equal(answer.status, 400);
  });
});

describe('an empty text in a conversation', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } };
  const asked = { role: 'user', content: 'Hi.' };
  const chats: readonly (readonly Json[])[] = [
    [{ role: 'system', content: '' }, asked],
    [{ role: 'user', content: '' }],
    [asked, { role: 'assistant', content: '' }, asked],
    [
      asked,
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '' },
    ],
  ];
  it('is accepted by chat completions', async () => {
    for (const messages of chats) {
      const answer = await ask('POST', '/v1/chat/completions', { model: 'acme/text', messages });

      assert.equal(answer.status, 200, await answer.text());
    }
  });

  it('is accepted by responses', async () => {
    for (const input of ['', [{ role: 'user', content: '' }]]) {
      const answer = await ask('POST', '/v1/responses', { model: 'acme/text', input });

      assert.equal(answer.status, 200, await answer.text());
    }
  });
});

describe('an unknown query parameter', () => {
  const OPENAI = ['/v1/models', '/v1/models/acme/text', '/v1/files', '/v1/batches', '/v1/videos'];
  for (const path of OPENAI) {
    it(`is ignored at ${path}`, async () => {
      const query = 'client_version=0.133.0&api-version=2026-02-01&api-version=2&__proto__=1';
      const answer = await ask('GET', `${path}?${query}`);

      assert.equal(answer.status, 200, await answer.text());
    });
  }

  it('leaves the known ones checked, unless they are empty', async () => {
    assert.equal((await ask('GET', '/v1/files?limit=0&api-version=1')).status, 400);
    assert.equal((await ask('GET', '/v1/files?after=&limit=&order=')).status, 200);
  });
});

/** `POST /v1/audio/speech`: a task whose file is the response. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { drawAudio } from '../support/test-provider/audio.ts';
import { inputOfTask } from './media-calls.ts';
import { speechBody } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

function speak(account: ServedAccount, changes: Record<string, unknown> = {}, headers: object = {}): Promise<Response> {
  return fetch(`${served.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(speechBody(changes)),
  });
}

async function newTask(account: ServedAccount): Promise<string> {
  const read = () =>
    served.room.rows<{ id: string; input: object }>('SELECT id, input FROM tasks WHERE account_id = $1', account.id);
  await waitFor('the task exists', async () => (await read()).length === 1);
  return (await read())[0]?.id ?? assert.fail();
}

describe('the lists that Open WebUI asks for', () => {
  const ask = async (path: string): Promise<unknown> => (await fetch(`${served.url}/v1/audio/${path}`)).json();

  it('have the models and voices of speech, without a key', async () => {
    const name = 'acme/compatible-speech';
    assert.deepEqual(await ask('models'), { models: [{ id: name, name }] });
    const voices = ['alloy', 'onyx'].map((id) => ({ id, name: id }));
    assert.deepEqual(await ask('voices'), { voices });
    assert.deepEqual(await ask(`voices?model=${name}&api-version=1`), { voices });
    assert.deepEqual(await ask('voices?model=acme/text'), { voices: [] });
  });
});

describe('POST /v1/audio/speech', () => {
  // Proves C10-3.
  it('answers with the bytes of the file, of its type', async () => {
    const account = await served.newAccount();
    const answering = speak(account, { response_format: 'wav', voice: 'onyx' });
    const taskId = await newTask(account);
    const bytes = Buffer.from('a sound'.repeat(50_000));
    await served.succeedWith(taskId, [{ type: 'audio', bytes, mimeType: 'audio/wav' }]);
    const answer = await answering;

    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'audio/wav');
    assert.equal(answer.headers.get('content-length'), String(bytes.length));
    assert.equal(answer.headers.get('x-darkroom-task-id'), taskId);
    assert.match(answer.headers.get('openai-processing-ms') ?? '', /^\d+$/);
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(bytes));
    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}?include=input`);
    const { input } = body.data as unknown as { input: object };
    assert.deepEqual(input, { text: 'Hello.', voice: 'rms', format: 'wav' });
  });

  it('answers with raw samples for response_format pcm, with their rate and channels', async () => {
    for (const [response_format, mimeType] of [
      ['pcm', 'audio/wav'],
      ['wav', 'audio/wav'],
    ]) {
      const account = await served.newAccount();
      const answering = speak(account, { response_format });
      const file = drawAudio('Hello.');
      await served.succeedWith(await newTask(account), [{ type: 'audio', bytes: file, mimeType: mimeType ?? '' }]);
      const answer = await answering;
      const isRaw = response_format === 'pcm';

      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), isRaw ? 'audio/pcm;rate=8000;channels=1' : 'audio/wav');
      assert.match(answer.headers.get('content-disposition') ?? '', isRaw ? /\.pcm"/ : /\.wav"/);
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(isRaw ? file.subarray(44) : file));
    }
  });

  it('says so if the file of the task has no such samples', async () => {
    const account = await served.newAccount();
    const answering = speak(account, { response_format: 'pcm' });
    const bytes = drawAudio('Hello.');
    // 8 bits.
    bytes.writeUInt16LE(8, 34);
    await served.succeedWith(await newTask(account), [{ type: 'audio', bytes, mimeType: 'audio/wav' }]);
    const answer = await answering;

    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('x-should-retry'), 'false');
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'no_output');
  });

  it('takes a voice as an object', async () => {
    for (const voice of [{ id: 'onyx' }, { name: 'onyx' }, { id: '', name: 'onyx' }]) {
      const account = await served.newAccount();
      assert.equal((await speak(account, { voice }, { Prefer: 'respond-async' })).status, 202);
      assert.equal((await inputOfTask(served, await newTask(account)))['voice'], 'rms');
    }
  });

  it('ignores instructions that the model does not have, and says so in a header', async () => {
    const account = await served.newAccount();
    const answer = await speak(account, { instructions: 'Whisper.' }, { Prefer: 'respond-async' });

    assert.equal(answer.status, 202);
    assert.equal(
      answer.headers.get('x-darkroom-warning'),
      'instructions: ignored, the model acme/compatible-speech does not have it',
    );
    const without = await speak(account, { instructions: '' }, { Prefer: 'respond-async' });
    assert.deepEqual([without.status, without.headers.get('x-darkroom-warning')], [202, null]);
  });

  it('attaches an automatic retry to the task of the attempt before', async () => {
    const account = await served.newAccount();
    const gone = new AbortController();
    const lost = fetch(`${served.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(speechBody()),
      signal: gone.signal,
    });
    const taskId = await newTask(account);
    gone.abort();
    await assert.rejects(lost);
    await served.succeedWith(taskId, [{ type: 'audio', bytes: Buffer.from('a sound'), mimeType: 'audio/mpeg' }]);
    const answer = await speak(account, {}, { 'X-Stainless-Retry-Count': '1' });

    assert.equal(await answer.text(), 'a sound');
    assert.equal(await newTask(account), taskId);
  });

  const rejected: readonly (readonly [changes: object, param: string, code: string | null])[] = [
    [{ model: 'acme/compatible' }, 'model', 'model_not_found'],
    [{ voice: 'unknown' }, 'voice', 'invalid_value'],
    [{ voice: { id: 'voice_1' } }, 'voice', 'invalid_value'],
    [{ voice: { id: 'alloy', name: 'onyx' } }, 'voice', 'invalid_value'],
    [{ voice: {} }, 'voice', 'invalid_value'],
    [{ voice: 7 }, 'voice', 'invalid_type'],
    [{ input: '' }, 'input', 'empty_string'],
    [{ input: 'x'.repeat(1_001) }, 'input', 'string_above_max_length'],
    [{ input: '   ' }, 'input', 'invalid_value'],
    [{ response_format: 'alaw' }, 'response_format', 'invalid_value'],
    [{ speed: 2 }, 'speed', 'unsupported_parameter'],
    [{ speed: 5 }, 'speed', 'decimal_above_max_value'],
    [{ stream_format: 'events' }, 'stream_format', 'invalid_value'],
  ];
  for (const [changes, param, code] of rejected) {
    it(`rejects ${JSON.stringify(changes).slice(0, 60)} with the field`, async () => {
      const account = await served.newAccount();
      const answer = await speak(account, { ...changes });
      const { error } = (await answer.json()) as { error: { param: string; code: string | null } };

      assert.deepEqual([answer.status, error.param, error.code], [400, param, code]);
      assert.deepEqual(await served.room.rows('SELECT id FROM tasks WHERE account_id = $1', account.id), []);
    });
  }
});

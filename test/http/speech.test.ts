/** `POST /v1/audio/speech`: a task whose file is the response, which may begin with the first bytes of the file. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { wavHead } from '../../src/domain/wav.ts';
import { appendPiece, isListenedTo } from '../../src/tasks/record/output-pieces.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { eventsOf, inputOfTask, newestTask, tasksOf } from './media-calls.ts';
import type { StreamedEvent } from './media-calls.ts';
import { speechBody } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const RETRY = { 'X-Stainless-Retry-Count': '1' };
const FILE = drawAudio('High water is at six.', 4);
const OUTPUT = { type: 'audio', bytes: FILE, mimeType: 'audio/wav' };

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

function speak(
  account: ServedAccount,
  changes: Record<string, unknown> = {},
  headers: object = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(`${served.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(speechBody(changes)),
    ...(signal === undefined ? {} : { signal }),
  });
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
    const taskId = await newestTask(served, account);
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
    for (const response_format of ['pcm', 'wav']) {
      const account = await served.newAccount();
      const answering = speak(account, { response_format });
      const file = drawAudio('Hello.');
      const made = { type: 'audio', bytes: file, mimeType: 'audio/wav' };
      await served.succeedWith(await newestTask(served, account), [made]);
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
    await served.succeedWith(await newestTask(served, account), [{ type: 'audio', bytes, mimeType: 'audio/wav' }]);
    const answer = await answering;

    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('x-should-retry'), 'false');
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'no_output');
  });

  it('takes a voice as an object', async () => {
    for (const voice of [{ id: 'onyx' }, { name: 'onyx' }, { id: '', name: 'onyx' }]) {
      const account = await served.newAccount();
      assert.equal((await speak(account, { voice }, { Prefer: 'respond-async' })).status, 202);
      assert.equal((await inputOfTask(served, await newestTask(served, account)))['voice'], 'rms');
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

  const rejected: readonly (readonly [changes: object, param: string, code: string | null])[] = [
    [{ model: 'acme/compatible' }, 'model', 'model_not_found'],
    [{ voice: { id: 'voice_1' } }, 'voice', 'invalid_value'],
    [{ voice: { id: 'alloy', name: 'onyx' } }, 'voice', 'invalid_value'],
    [{ voice: {} }, 'voice', 'invalid_value'],
    [{ voice: 7 }, 'voice', 'invalid_type'],
    [{ input: 'x'.repeat(1_001) }, 'input', 'string_above_max_length'],
    [{ input: '   ' }, 'input', 'invalid_value'],
    [{ response_format: 'alaw' }, 'response_format', 'invalid_value'],
    [{ speed: 2 }, 'speed', 'unsupported_parameter'],
    [{ stream_format: 'events' }, 'stream_format', 'invalid_value'],
  ];
  for (const [changes, param, code] of rejected) {
    it(`rejects ${JSON.stringify(changes).slice(0, 60)} with the field`, async () => {
      const account = await served.newAccount();
      const answer = await speak(account, { ...changes });
      const { error } = (await answer.json()) as { error: { param: string; code: string | null } };

      assert.deepEqual([answer.status, error.param, error.code], [400, param, code]);
      assert.deepEqual(await tasksOf(served, account), []);
    });
  }
});

/** A request whose response listens to the file of its task. */
async function listening(changes: object = {}, signal?: AbortSignal) {
  const account = await served.newAccount();
  const speaking = speak(account, { response_format: 'wav', ...changes }, {}, signal);
  const taskId = await newestTask(served, account);
  await waitFor('the response listens to the file', () => isListenedTo(served.room.database, taskId));
  return { account, speaking, taskId };
}

/** What a worker records of a file that it receives. */
async function receive(taskId: TaskId, from: number, to: number, source = 'first', file = FILE): Promise<void> {
  const bytes = file.subarray(from, to);
  await appendPiece(served.room.database, taskId, { source, position: from, bytes });
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, length: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  while (total < length) {
    const { value, done } = await reader.read();
    if (done) break;
    chunks.push(value);
    total += value.length;
  }
  return Buffer.concat(chunks);
}

/** The bytes that events of speech carry. */
const audioIn = (events: readonly StreamedEvent[]): Buffer =>
  Buffer.concat(events.map(({ data }) => Buffer.from((data['audio'] ?? '') as string, 'base64')));

const bodyOf = (answer: Response): ReadableStreamDefaultReader<Uint8Array> =>
  (answer.body ?? assert.fail('no body')).getReader();

describe('speech that is being generated', { concurrency: true }, () => {
  // Proves C10-3.
  it('is sent from the first bytes on, and ends with the rest of the stored file', async () => {
    const { account, speaking, taskId } = await listening();
    await receive(taskId, 0, 10_000);
    const answer = await speaking;

    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'audio/wav');
    assert.equal(answer.headers.get('x-darkroom-task-id'), taskId);
    assert.match(answer.headers.get('openai-processing-ms') ?? '', /^\d+$/);
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
    const body = bodyOf(answer);
    const beginning = await read(body, 10_000);
    assert.ok(beginning.equals(FILE.subarray(0, 10_000)));
    assert.equal((await account.client.get(taskId)).body.data.status, 'queued');
    await receive(taskId, 10_000, 20_000);
    const middle = await read(body, 10_000);
    await served.succeedWith(taskId, [OUTPUT]);
    const rest = await read(body, Infinity);
    assert.ok(Buffer.concat([beginning, middle, rest]).equals(FILE));
    await waitFor('its pieces are deleted', async () => !(await isListenedTo(served.room.database, taskId)));
    assert.deepEqual(await served.room.rows('SELECT 1 FROM output_pieces WHERE task_id = $1', taskId), []);
  });

  // Proves C10-3.
  it('is sent as events with stream_format sse, whose bytes are the file', async () => {
    const { speaking, taskId } = await listening({ stream_format: 'sse' });
    await receive(taskId, 0, 10_000);
    const answer = await speaking;
    await served.succeedWith(taskId, [OUTPUT]);
    const events = eventsOf({ text: await answer.text() });

    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    const deltas = events.slice(0, -1);
    assert.ok(audioIn(deltas).equals(FILE));
    assert.ok(deltas.length > 1 && deltas.every(({ data }) => data['type'] === 'speech.audio.delta'));
    assert.deepEqual(events.at(-1)?.data, {
      type: 'speech.audio.done',
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
  });

  it('is sent as raw samples with response_format pcm, with their rate and channels', async () => {
    for (const stream_format of ['audio', 'sse'] as const) {
      const { speaking, taskId } = await listening({ response_format: 'pcm', stream_format });
      // While a file is being received, its head does not have its length.
      const received = Buffer.concat([wavHead({ rate: 8_000, channels: 1 }), FILE.subarray(44)]);
      await receive(taskId, 0, 44, 'first', received);
      await receive(taskId, 44, 10_000, 'first', received);
      const answer = await speaking;
      await served.succeedWith(taskId, [OUTPUT]);

      const isEvents = stream_format === 'sse';
      const sent = isEvents
        ? audioIn(eventsOf({ text: await answer.text() }))
        : Buffer.from(await answer.arrayBuffer());
      assert.ok(sent.equals(FILE.subarray(44)), stream_format);
      if (!isEvents) assert.equal(answer.headers.get('content-type'), 'audio/pcm;rate=8000;channels=1');
    }
  });

  it('is sent as events too where nothing is received before the end', async () => {
    const { speaking, taskId } = await listening({ stream_format: 'sse' });
    await served.succeedWith(taskId, [OUTPUT]);
    const events = eventsOf({ text: await (await speaking).text() });

    assert.ok(audioIn(events).equals(FILE));
  });

  it('has a length where nothing is received before the end', async () => {
    const { speaking, taskId } = await listening();
    await served.succeedWith(taskId, [OUTPUT]);
    const answer = await speaking;

    assert.equal(answer.headers.get('content-length'), String(FILE.length));
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(FILE));
  });

  it('takes from the stored file what is missing between two pieces', async () => {
    const { speaking, taskId } = await listening();
    await receive(taskId, 0, 5_000);
    await receive(taskId, 7_000, 9_000);
    const body = bodyOf(await speaking);
    const beginning = await read(body, 5_000);
    await served.succeedWith(taskId, [OUTPUT]);

    assert.ok(Buffer.concat([beginning, await read(body, Infinity)]).equals(FILE));
  });

  it('takes the pieces of one attempt only', async () => {
    const { speaking, taskId } = await listening();
    await receive(taskId, 0, 5_000, 'b');
    const body = bodyOf(await speaking);
    const beginning = await read(body, 5_000);
    await receive(taskId, 5_000, 9_000, 'a', Buffer.alloc(9_000, 'x'));
    await receive(taskId, 5_000, 9_000, 'b');
    const next = await read(body, 4_000);
    await served.succeedWith(taskId, [OUTPUT]);

    assert.ok(Buffer.concat([beginning, next, await read(body, Infinity)]).equals(FILE));
  });

  it('breaks off where the stored file is another one, and a retry gets that', async () => {
    const { account, speaking, taskId } = await listening();
    await receive(taskId, 0, 5_000, 'first', drawAudio('Low water is at noon.', 4));
    const answer = await speaking;
    await served.succeedWith(taskId, [OUTPUT]);

    await assert.rejects(answer.arrayBuffer());
    const retried = await speak(account, { response_format: 'wav' }, RETRY);
    assert.ok(Buffer.from(await retried.arrayBuffer()).equals(FILE));
    assert.equal(retried.headers.get('x-darkroom-task-id'), taskId);
    assert.deepEqual(await tasksOf(served, account), [taskId]);
  });

  it('breaks off when the task fails', async () => {
    const { account, speaking, taskId } = await listening();
    await receive(taskId, 0, 5_000);
    const answer = await speaking;
    const verdict = { status: 'fail', reason: 'provider_error' } as const;
    await settleTask(served.room.database, taskId, verdict, { retentionDays: 7 });

    await assert.rejects(answer.arrayBuffer());
    assert.equal((await account.client.get(taskId)).body.data.billing.captured, '0');
  });

  // Proves C10-9, C10-10.
  it('continues after its client has disconnected, and its retry gets the file from its beginning', async () => {
    const gone = new AbortController();
    const { account, speaking, taskId } = await listening({}, gone.signal);
    await receive(taskId, 0, 5_000);
    await read(bodyOf(await speaking), 5_000);
    gone.abort();
    const retrying = speak(account, { response_format: 'wav' }, RETRY);
    const body = bodyOf(await retrying);
    const beginning = await read(body, 5_000);
    await served.succeedWith(taskId, [OUTPUT]);

    assert.ok(Buffer.concat([beginning, await read(body, Infinity)]).equals(FILE));
    assert.deepEqual(await tasksOf(served, account), [taskId]);
  });

  it('does not begin with bytes that are no audio', async () => {
    const { speaking, taskId } = await listening();
    await receive(taskId, 0, 5_000, 'first', Buffer.alloc(5_000, '<html>'));
    await receive(taskId, 5_000, 9_000, 'first', Buffer.alloc(9_000, '<html>'));
    await served.succeedWith(taskId, [OUTPUT]);

    assert.ok(Buffer.from(await (await speaking).arrayBuffer()).equals(FILE));
  });
});

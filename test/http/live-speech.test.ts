/** `POST /v1/audio/speech` while the file is being generated: the response begins with the first bytes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { wavHead } from '../../src/domain/wav.ts';
import { appendPiece, isListenedTo } from '../../src/tasks/record/output-pieces.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { speechBody } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const FILE = drawAudio('High water is at six.', 4);
const OUTPUT = { type: 'audio', bytes: FILE, mimeType: 'audio/wav' };

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

function speak(
  account: ServedAccount,
  { changes = {}, headers = {}, signal }: { changes?: object; headers?: object; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${served.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(speechBody({ response_format: 'wav', ...changes })),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The only task of an account, once the response listens to its file. */
async function listenedTask(account: ServedAccount): Promise<TaskId> {
  let taskId = '' as TaskId;
  await waitFor('the response listens to the file of its task', async () => {
    const [row] = await served.room.rows<{ id: TaskId }>('SELECT id FROM tasks WHERE account_id = $1', account.id);
    taskId = row?.id ?? taskId;
    return row !== undefined && (await isListenedTo(served.room.database, row.id));
  });
  return taskId;
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

const bodyOf = (answer: Response): ReadableStreamDefaultReader<Uint8Array> =>
  (answer.body ?? assert.fail('no body')).getReader();

describe('speech that is being generated', { concurrency: true }, () => {
  // Proves C10-3.
  it('is sent from the first bytes on, and ends with the rest of the stored file', async () => {
    const account = await served.newAccount();
    const speaking = speak(account);
    const taskId = await listenedTask(account);
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
    const account = await served.newAccount();
    const speaking = speak(account, { changes: { stream_format: 'sse' } });
    const taskId = await listenedTask(account);
    await receive(taskId, 0, 10_000);
    const answer = await speaking;
    await served.succeedWith(taskId, [OUTPUT]);
    const events = eventsOf(await answer.text());

    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    const done = events.pop();
    assert.ok(Buffer.concat(events.map(({ audio = '' }) => Buffer.from(audio, 'base64'))).equals(FILE));
    assert.ok(events.length > 1 && events.every(({ type }) => type === 'speech.audio.delta'));
    assert.deepEqual(done, {
      type: 'speech.audio.done',
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
  });

  it('is sent as raw samples with response_format pcm, with their rate and channels', async () => {
    for (const stream_format of ['audio', 'sse'] as const) {
      const account = await served.newAccount();
      const speaking = speak(account, { changes: { response_format: 'pcm', stream_format } });
      const taskId = await listenedTask(account);
      // While a file is being received, its head does not have its length.
      const received = Buffer.concat([wavHead({ rate: 8_000, channels: 1 }), FILE.subarray(44)]);
      await receive(taskId, 0, 44, 'first', received);
      await receive(taskId, 44, 10_000, 'first', received);
      const answer = await speaking;
      await served.succeedWith(taskId, [OUTPUT]);

      const isEvents = stream_format === 'sse';
      const sent = isEvents
        ? Buffer.concat(eventsOf(await answer.text()).map(({ audio = '' }) => Buffer.from(audio, 'base64')))
        : Buffer.from(await answer.arrayBuffer());
      assert.ok(sent.equals(FILE.subarray(44)), stream_format);
      if (!isEvents) assert.equal(answer.headers.get('content-type'), 'audio/pcm;rate=8000;channels=1');
    }
  });

  it('is sent as events too where nothing is received before the end', async () => {
    const account = await served.newAccount();
    const speaking = speak(account, { changes: { stream_format: 'sse' } });
    await served.succeedWith(await listenedTask(account), [OUTPUT]);
    const events = eventsOf(await (await speaking).text());

    assert.ok(Buffer.concat(events.map(({ audio = '' }) => Buffer.from(audio, 'base64'))).equals(FILE));
  });

  it('has a length where nothing is received before the end', async () => {
    const account = await served.newAccount();
    const speaking = speak(account);
    await served.succeedWith(await listenedTask(account), [OUTPUT]);
    const answer = await speaking;

    assert.equal(answer.headers.get('content-length'), String(FILE.length));
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(FILE));
  });

  it('takes from the stored file what is missing between two pieces', async () => {
    const account = await served.newAccount();
    const speaking = speak(account);
    const taskId = await listenedTask(account);
    await receive(taskId, 0, 5_000);
    await receive(taskId, 7_000, 9_000);
    const body = bodyOf(await speaking);
    const beginning = await read(body, 5_000);
    await served.succeedWith(taskId, [OUTPUT]);

    assert.ok(Buffer.concat([beginning, await read(body, Infinity)]).equals(FILE));
  });

  it('takes the pieces of one attempt only', async () => {
    const account = await served.newAccount();
    const speaking = speak(account);
    const taskId = await listenedTask(account);
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
    const account = await served.newAccount();
    const speaking = speak(account);
    const taskId = await listenedTask(account);
    await receive(taskId, 0, 5_000, 'first', drawAudio('Low water is at noon.', 4));
    const answer = await speaking;
    await served.succeedWith(taskId, [OUTPUT]);

    await assert.rejects(answer.arrayBuffer());
    const retried = await speak(account, { headers: { 'X-Stainless-Retry-Count': '1' } });
    assert.ok(Buffer.from(await retried.arrayBuffer()).equals(FILE));
    assert.equal(retried.headers.get('x-darkroom-task-id'), taskId);
    assert.equal((await served.room.rows('SELECT 1 FROM tasks WHERE account_id = $1', account.id)).length, 1);
  });

  it('breaks off when the task fails', async () => {
    const account = await served.newAccount();
    const speaking = speak(account);
    const taskId = await listenedTask(account);
    await receive(taskId, 0, 5_000);
    const answer = await speaking;
    const verdict = { status: 'fail', reason: 'provider_error' } as const;
    await settleTask(served.room.database, taskId, verdict, { retentionDays: 7 });

    await assert.rejects(answer.arrayBuffer());
    assert.equal((await account.client.get(taskId)).body.data.billing.captured, '0');
  });

  // Proves C10-9, C10-10.
  it('continues after its client has disconnected, and its retry gets the file from its beginning', async () => {
    const account = await served.newAccount();
    const gone = new AbortController();
    const speaking = speak(account, { signal: gone.signal });
    const taskId = await listenedTask(account);
    await receive(taskId, 0, 5_000);
    await read(bodyOf(await speaking), 5_000);
    gone.abort();
    const retrying = speak(account, { headers: { 'X-Stainless-Retry-Count': '1' } });
    const body = bodyOf(await retrying);
    const beginning = await read(body, 5_000);
    await served.succeedWith(taskId, [OUTPUT]);

    assert.ok(Buffer.concat([beginning, await read(body, Infinity)]).equals(FILE));
    assert.equal((await served.room.rows('SELECT 1 FROM tasks WHERE account_id = $1', account.id)).length, 1);
  });

  it('does not begin with bytes that are no audio', async () => {
    const account = await served.newAccount();
    const speaking = speak(account);
    const taskId = await listenedTask(account);
    await receive(taskId, 0, 5_000, 'first', Buffer.alloc(5_000, '<html>'));
    await receive(taskId, 5_000, 9_000, 'first', Buffer.alloc(9_000, '<html>'));
    await served.succeedWith(taskId, [OUTPUT]);

    assert.ok(Buffer.from(await (await speaking).arrayBuffer()).equals(FILE));
  });
});

interface SpeechEvent {
  readonly type: string;
  readonly audio?: string;
}

function eventsOf(text: string): SpeechEvent[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.replace(/^data: /, '')) as SpeechEvent);
}

/** `POST /v1/audio/transcriptions`: a form with a recording, and the transcript of its task as the response. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openVideo } from '@darkroom/media/encode';
import { packageFile } from '../../src/config/package-root.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { eventsOf, inputOfTask, newestTask, tasksOf, uploadsOf } from './media-calls.ts';
import type { FailedAnswer } from './media-calls.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { TRANSCRIPT, transcriptionForm } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const PATH = '/v1/audio/transcriptions';

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

async function transcribe(
  account: ServedAccount,
  changes: Record<string, string | undefined> = {},
  headers: Record<string, string> = {},
  file?: Buffer,
  path = PATH,
): Promise<RawAnswer> {
  const form = await transcriptionForm(changes, file);
  const all = { ...form.headers, Authorization: `Bearer ${account.client.key}`, ...headers };
  return raw(served.url, 'POST', path, all, form.body);
}

/** A form as written. */
function send(account: ServedAccount, parts: readonly string[], end = '--x--\r\n'): Promise<RawAnswer> {
  const text = [...parts.map((part) => `--x\r\nContent-Disposition: form-data; ${part}\r\n`), end].join('');
  const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'multipart/form-data; boundary=x' };
  return raw(served.url, 'POST', PATH, headers, text);
}

/** The input of the only task of an account, without its recording. */
async function newInput(account: ServedAccount): Promise<object> {
  const { audio_url: _, ...input } = await inputOfTask(served, await newestTask(served, account));
  return input;
}

/** A request whose task ends with this file. */
async function transcribed(
  changes: Record<string, string | undefined> = {},
  { file = TRANSCRIPT, mimeType = 'application/json', recording, path = PATH }: Partial<Made> = {},
) {
  const account = await served.newAccount();
  const answering = transcribe(account, changes, {}, recording, path);
  const taskId = await newestTask(served, account);
  await served.succeedWith(taskId, [{ type: 'text', bytes: Buffer.from(file), mimeType }]);
  return { account, taskId, answer: await answering };
}

/** What is changed in a form that would be accepted, and the `param` and the `code` of the rejection. */
type Rejected = readonly (readonly [changes: Record<string, string | undefined>, param: string, code: string])[];

function itRejects(path: string, rejected: Rejected): void {
  for (const [changes, param, code] of rejected) {
    it(`rejects ${JSON.stringify(changes)} with the field, and keeps nothing`, async () => {
      const account = await served.newAccount();
      const answer = await transcribe(account, changes, {}, undefined, path);

      assert.equal(answer.status, 400, answer.text);
      const { error } = JSON.parse(answer.text) as FailedAnswer;
      assert.deepEqual([error.param, error.code], [param, code], answer.text);
      assert.deepEqual(await tasksOf(served, account), []);
      assert.equal(await uploadsOf(served, account), 0);
    });
  }
}

interface Made {
  readonly file: string;
  readonly mimeType: string;
  readonly recording: Buffer;
  readonly path: string;
}

describe('POST /v1/audio/transcriptions', () => {
  // Proves C10-4.
  it('holds for the length of the recording, and answers with the text as JSON', async () => {
    const { account, taskId, answer } = await transcribed({ language: 'en', temperature: '0' });

    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(JSON.parse(answer.text), { text: 'Mind the gap.', usage: { type: 'duration', seconds: 2 } });
    assert.equal(answer.headers['x-darkroom-task-id'], taskId);
    const { audio_url: audio, ...input } = await inputOfTask(served, taskId);
    assert.match(String(audio), /^darkroom:file_/);
    assert.deepEqual(input, { language: 'en', formats: ['json'], max_seconds: 2 });
    assert.equal((await account.client.get(taskId)).body.data.billing.held, '0.002');
    assert.equal(await uploadsOf(served, account), 1);
  });

  // Cases 01 and 02: recordings of Chrome, Android and Safari, whose containers may hold video.
  for (const [name, held] of [
    ['live.webm', '0.004'],
    ['mp42_audio.m4a', '0.003'],
    ['isom_audio.m4a', '0.003'],
    ['safari.mp4', '0.004'],
  ] as const) {
    it(`takes ${name}, and holds for its measured length`, async () => {
      const recording = await readFile(packageFile(`packages/media/test/files/${name}`));
      const { account, taskId, answer } = await transcribed({}, { recording });

      assert.equal(answer.status, 200);
      assert.equal((await account.client.get(taskId)).body.data.billing.held, held);
      const [row] = await served.room.rows<{ mimeType: string; seconds: number; channels: number }>(
        `SELECT mime_type AS "mimeType", duration_seconds AS seconds, channels FROM files WHERE account_id = $1`,
        account.id,
      );
      assert.match(row?.mimeType ?? '', /^audio\//);
      assert.equal(Math.ceil(row?.seconds ?? 0), Number(held) * 1000);
      assert.equal(row?.channels, 1);
    });
  }

  it('takes a video for its audio, and rejects one that has none', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'transcriptions-'));
    try {
      const sound = path.join(directory, 'sound.wav');
      await writeFile(sound, drawAudio('a speech', 1.5));
      const [talking, silent] = [path.join(directory, 'talking.mp4'), path.join(directory, 'silent.mp4')];
      for (const [file, audio] of [
        [talking, { audio: { path: sound } }],
        [silent, {}],
      ] as const) {
        const video = await openVideo({ path: file, width: 64, height: 64, fps: 2, quality: 'standard', ...audio });
        for (let frame = 0; frame < 3; frame += 1) await video.write(Buffer.alloc(64 * 64 * 4, 90));
        await video.finish();
      }

      const rejected = await transcribe(await served.newAccount(), {}, {}, await readFile(silent));
      assert.equal(rejected.status, 400, rejected.text);
      assert.match((JSON.parse(rejected.text) as FailedAnswer).error.message, /got video\/mp4, want audio/);

      const { account, taskId, answer } = await transcribed({}, { recording: await readFile(talking) });
      assert.equal(answer.status, 200);
      assert.equal((await account.client.get(taskId)).body.data.billing.held, '0.002');
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('holds nothing for a recording whose length cannot be measured, and rejects it', async () => {
    const account = await served.newAccount();
    const cut = (await readFile(packageFile('packages/media/test/files/isom_audio.m4a'))).subarray(0, 64);
    const answer = await transcribe(
      account,
      {},
      {},
      Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead'), cut]),
    );

    assert.equal(answer.status, 400, answer.text);
    assert.match(
      (JSON.parse(answer.text) as FailedAnswer).error.message,
      /^invalid request: file: its length cannot be measured/,
    );
    assert.deepEqual(await tasksOf(served, account), []);
  });

  it('answers with all that clients expect in verbose_json', async () => {
    const changes = { response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' };
    const { answer } = await transcribed(changes);
    const unknown = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };

    assert.deepEqual(JSON.parse(answer.text), {
      task: 'transcribe',
      language: 'en',
      duration: 1.5,
      text: 'Mind the gap.',
      segments: [{ id: 0, start: 0, end: 1.5, text: 'Mind the gap.', ...unknown }],
      usage: { type: 'duration', seconds: 2 },
    });
  });

  for (const [format, mimeType] of [
    ['text', 'text/plain'],
    ['srt', 'application/x-subrip'],
    ['vtt', 'text/vtt'],
  ] as const) {
    // Proves C10-4.
    it(`answers with the file of format ${format} as it is`, async () => {
      const file = '1\nMind the gap.\n';
      const { taskId, answer } = await transcribed({ response_format: format }, { file, mimeType });

      assert.equal(answer.text, file);
      assert.equal(answer.headers['content-type'], `${mimeType}; charset=utf-8`);
      assert.deepEqual((await inputOfTask(served, taskId))['formats'], [format]);
    });
  }

  it('attaches an automatic retry with the same recording, and keeps no second copy of it', async () => {
    const account = await served.newAccount();
    const form = await transcriptionForm();
    const gone = new AbortController();
    const headers = { ...form.headers, Authorization: `Bearer ${account.client.key}` };
    const body = new Uint8Array(form.body);
    const lost = fetch(`${served.url}${PATH}`, { method: 'POST', headers, body, signal: gone.signal });
    const taskId = await newestTask(served, account);
    gone.abort();
    await assert.rejects(lost);
    const answering = transcribe(account, {}, { 'X-Stainless-Retry-Count': '1' });
    const made = { type: 'text', bytes: Buffer.from(TRANSCRIPT), mimeType: 'application/json' };
    await served.succeedWith(taskId, [made]);

    assert.equal((await answering).headers['x-darkroom-task-id'], taskId);
    assert.equal((await tasksOf(served, account)).length, 1);
    assert.equal(await uploadsOf(served, account), 1);
    const other = { 'X-Stainless-Retry-Count': '1', Prefer: 'respond-async' };
    await transcribe(account, {}, other, drawAudio('another station', 1.5));
    assert.equal((await tasksOf(served, account)).length, 2);
  });

  itRejects(PATH, [
    [{ model: 'acme/compatible' }, 'model', 'model_not_found'],
    [{ model: undefined }, 'model', 'missing_required_parameter'],
    [{ language: 'english' }, 'language', 'invalid_value'],
    [{ prompt: 'Paddington' }, 'prompt', 'unsupported_parameter'],
    [{ temperature: '0.5' }, 'temperature', 'unsupported_parameter'],
    [{ temperature: 'warm' }, 'temperature', 'invalid_type'],
    [{ response_format: 'docx' }, 'response_format', 'invalid_value'],
    [{ stream: 'yes' }, 'stream', 'invalid_type'],
    [{ stream: 'true', response_format: 'srt' }, 'response_format', 'unsupported_value'],
    [{ stream: 'true', response_format: 'verbose_json' }, 'response_format', 'unsupported_value'],
    [{ 'timestamp_granularities[]': 'word' }, 'timestamp_granularities.0', 'invalid_value'],
    [{ timestamp_granularities: 'word' }, 'timestamp_granularities.0', 'invalid_value'],
    [{ 'include[]': 'segments' }, 'include.0', 'invalid_value'],
    [{ chunking_strategy: 'server_vad' }, 'chunking_strategy', 'invalid_value'],
    [{ stream: '2' }, 'stream', 'invalid_type'],
    [{ seed: '7' }, 'seed', 'unknown_parameter'],
    [{ constructor: 'x' }, 'constructor', 'unknown_parameter'],
  ]);

  it('takes the spellings of other clients', async () => {
    const account = await served.newAccount();
    const changes = {
      prompt: '\r\n',
      language: 'EN',
      timestamp_granularities: 'segment',
      stream: '0',
      'include[]': ' ',
    };
    const answer = await transcribe(account, changes, { Prefer: 'respond-async' });

    assert.deepEqual([answer.status, answer.headers['x-darkroom-warning']], [202, undefined], answer.text);
    assert.deepEqual(await newInput(account), { language: 'en', formats: ['json'], max_seconds: 2 });
  });

  it('ignores what no model has and no request depends on, and says so in a header', async () => {
    const account = await served.newAccount();
    const changes = { 'include[]': 'logprobs', chunking_strategy: 'auto' };
    const answer = await transcribe(account, changes, { Prefer: 'respond-async' });

    assert.equal(answer.status, 202, answer.text);
    assert.equal(
      answer.headers['x-darkroom-warning'],
      'include, chunking_strategy: ignored, the model acme/compatible-transcription does not have it',
    );
  });

  it('rejects a recording that is longer than the model takes, and a file that is no audio, by the field', async () => {
    const account = await served.newAccount();
    const long = await transcribe(account, {}, {}, drawAudio('a long one', 61));
    const text = await transcribe(account, {}, {}, Buffer.from('no sound at all'));

    assert.deepEqual([long.status, (JSON.parse(long.text) as FailedAnswer).error.param], [400, 'file'], long.text);
    assert.equal(text.status, 415);
    assert.deepEqual(await tasksOf(served, account), []);
    assert.equal(await uploadsOf(served, account), 0);
  });

  it('takes a part without a file name, or with an empty one, as a text, whatever its type', async () => {
    for (const type of [
      'application/json',
      'multipart/form-data; charset=utf-8',
      'application/octet-stream',
      'audio/wav',
    ]) {
      const account = await served.newAccount();
      const typed = (name: string, value: string) => `name="${name}"\r\nContent-Type: ${type}\r\n\r\n${value}`;
      const { body, headers } = await transcriptionForm({ model: undefined });
      const boundary = /boundary=(.*)$/.exec(headers['Content-Type'] ?? '')?.[1] ?? assert.fail();
      const parts = [
        typed('model', 'acme/compatible-transcription'),
        `name="language"; filename=""\r\nContent-Type: ${type}\r\n\r\nen`,
        typed('prompt', ''),
        'name="temperature"\r\n\r\n',
        'name="stream"\r\n\r\nFalse',
      ];
      const text = parts.map((part) => `--${boundary}\r\nContent-Disposition: form-data; ${part}\r\n`).join('');
      const all = { ...headers, Authorization: `Bearer ${account.client.key}`, Prefer: 'respond-async' };
      const answer = await raw(served.url, 'POST', PATH, all, Buffer.concat([Buffer.from(text), body]));

      assert.equal(answer.status, 202, answer.text);
      assert.deepEqual(await newInput(account), { language: 'en', formats: ['json'], max_seconds: 2 });
    }
  });

  it('rejects a form that is not well-formed', async () => {
    const account = await served.newAccount();
    const model = 'name="model"\r\n\r\nacme/compatible-transcription';
    const file = 'name="file"; filename="a.wav"\r\n\r\nsound';
    const cases: readonly (readonly [parts: readonly string[], param: string | null, message: RegExp, end?: string])[] =
      [
        [[model], 'file', /missing property: file/],
        [[model, model, file], 'model', /given twice/],
        [[file, file, model], null, /more than one file/],
        [[model, 'name="image"; filename="a.wav"\r\n\r\nsound'], 'image', /additional properties not allowed: image/],
        [[`name="prompt"\r\n\r\n${'x'.repeat(40_000)}`, model, file], 'prompt', /too long/],
        [[model, `name="file"\r\nContent-Type: audio/wav\r\n\r\n${'x'.repeat(40_000)}`], 'file', /needs a filename/],
        [[...Array.from({ length: 40 }, (_, index) => `name="a${index}"\r\n\r\n1`), file], null, /too many parts/],
        [[model, file], null, /not well-formed|breaks off/, ''],
      ];
    for (const [parts, param, message, end] of cases) {
      const answer = await send(account, parts, end);
      const { error } = JSON.parse(answer.text) as FailedAnswer;

      assert.equal(answer.status, 400, answer.text);
      assert.equal(error.param, param, answer.text);
      assert.match(error.message, message);
    }
    assert.equal(await uploadsOf(served, account), 0);
  });
});

describe('a transcript that is streamed', () => {
  /** A transcript whose text has these segments. @param text default: the segments, with a space between them. */
  const transcriptOf = (segments: readonly string[], text = segments.join(' ')): string =>
    JSON.stringify({
      text,
      duration: segments.length,
      segments: segments.map((each, index) => ({ start: index, end: index + 1, text: each })),
    });

  const cases: readonly (readonly [what: string, file: string, deltas: readonly string[]])[] = [
    [
      'a piece for each segment',
      transcriptOf(['Mind the gap.', 'The doors close.']),
      ['Mind the gap.', ' The doors close.'],
    ],
    ['segments without spaces between them', transcriptOf(['心', '配'], '心配'), ['心', '配']],
    ['one piece without segments', JSON.stringify({ text: 'Mind the gap.' }), ['Mind the gap.']],
    ['nothing that was said', JSON.stringify({ text: '', segments: [] }), []],
    ['an empty segment', transcriptOf(['Mind', '', 'the gap.'], 'Mind the gap.'), ['Mind', ' the gap.']],
    [
      'segments that do not continue the text',
      transcriptOf(['Mind', 'a gap.'], 'Mind the gap.'),
      ['Mind', ' the gap.'],
    ],
    ['segments that end before the text', transcriptOf(['Mind'], 'Mind the gap.'), ['Mind', ' the gap.']],
  ];
  for (const [what, file, deltas] of cases) {
    it(`has ${what}, which together are the text`, async () => {
      const { taskId, answer } = await transcribed({ stream: 'true' }, { file });

      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.equal(answer.headers['x-darkroom-task-id'], taskId);
      assert.deepEqual(
        eventsOf(answer).map(({ data }) => data),
        [
          ...deltas.map((delta) => ({ type: 'transcript.text.delta', delta })),
          { type: 'transcript.text.done', text: deltas.join('') },
        ],
      );
    });
  }

  it('is made of the JSON, also where the text is requested', async () => {
    const { taskId, answer } = await transcribed({ stream: 'true', response_format: 'text' });

    assert.equal(eventsOf(answer).length, 2);
    assert.deepEqual((await inputOfTask(served, taskId))['formats'], ['json']);
  });

  it('that another service wrote and that is none is an error with a status', async () => {
    const { answer } = await transcribed({ stream: 'true' }, { file: '{"text":' });

    assert.equal(answer.status, 503, answer.text);
    assert.equal((JSON.parse(answer.text) as FailedAnswer).error.code, 'no_output');
    assert.equal(answer.headers['x-should-retry'], 'false');
  });
});

describe('POST /v1/audio/translations', () => {
  const path = '/v1/audio/translations';

  for (const [format, mimeType, text] of [
    ['json', 'application/json', { text: 'Mind the gap.', usage: { type: 'duration', seconds: 2 } }],
    ['text', 'text/plain', '1\nMind the gap.\n'],
    ['srt', 'application/x-subrip', '1\nMind the gap.\n'],
    ['vtt', 'text/vtt', '1\nMind the gap.\n'],
  ] as const) {
    // Proves C10-5.
    it(`answers with a transcript in English as ${format}`, async () => {
      const file = format === 'json' ? TRANSCRIPT : '1\nMind the gap.\n';
      const { account, taskId, answer } = await transcribed({ response_format: format }, { file, mimeType, path });

      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(format === 'json' ? JSON.parse(answer.text) : answer.text, text);
      assert.deepEqual(await newInput(account), { formats: [format], translate: true, max_seconds: 2 });
      assert.equal((await account.client.get(taskId)).body.data.billing.held, '0.002');
    });
  }

  it('says in verbose_json that it is a translation into English', async () => {
    const file = JSON.stringify({ text: 'Mind the gap.', language: 'french', duration: 1.5 });
    const { answer } = await transcribed({ response_format: 'verbose_json' }, { file, path });
    const { task, language, duration, segments } = JSON.parse(answer.text) as Record<string, unknown>;

    assert.deepEqual([task, language, duration, segments], ['translate', 'english', 1.5, []]);
  });

  // Proves C10-5.
  it('is another request than a transcription of the same recording', async () => {
    const account = await served.newAccount();
    const async = { Prefer: 'respond-async' };
    await transcribe(account, {}, async);
    const retry = await transcribe(account, {}, { ...async, 'X-Stainless-Retry-Count': '1' }, undefined, path);

    assert.equal(retry.status, 202, retry.text);
    assert.equal((await tasksOf(served, account)).length, 2);
  });

  itRejects(path, [
    [{ model: 'acme/compatible' }, 'model', 'model_not_found'],
    [{ model: undefined }, 'model', 'missing_required_parameter'],
    [{ language: 'en' }, 'language', 'unknown_parameter'],
    [{ stream: 'true' }, 'stream', 'unknown_parameter'],
    [{ 'timestamp_granularities[]': 'segment' }, 'timestamp_granularities', 'unknown_parameter'],
    [{ response_format: 'docx' }, 'response_format', 'invalid_value'],
    [{ temperature: '2' }, 'temperature', 'decimal_above_max_value'],
    [{ prompt: 'Paddington' }, 'prompt', 'unsupported_parameter'],
  ]);
});

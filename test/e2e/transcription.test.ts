/**
 * Transcriptions as tasks: files in the formats that were asked for, priced by the seconds of the recording, and a
 * recording that is longer than was held for is not sent.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { drawAudio } from '../support/test-provider/audio.ts';

const SPOKEN = {
  task: 'transcribe',
  language: 'english',
  text: ' Mind the <gap>. Doors close.',
  segments: [
    { id: 0, start: 0, end: 1.2, text: ' Mind the <gap>.' },
    { id: 1, start: 1.2, end: 2.5, text: ' Doors close.' },
  ],
};

const ANSWERS: Readonly<Record<string, string>> = {
  whisper: JSON.stringify({ ...SPOKEN, duration: 2.5 }),
  unmeasured: JSON.stringify(SPOKEN),
  zero: JSON.stringify({ ...SPOKEN, duration: 0 }),
  overlong: JSON.stringify({ ...SPOKEN, duration: 9_999 }),
  untimed: JSON.stringify({ text: 'Mind the gap.' }),
  html: '<html>Bad gateway</html>',
  job: JSON.stringify({ id: 'j1', status: 'succeeded', result: { ...SPOKEN, duration: 2.5 } }),
};

/** A server with the interface of OpenAI; the model decides what it answers. It also serves recordings by their length. */
class TranscriptionServer {
  /** The forms that it was sent. */
  readonly forms: string[] = [];
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seconds = /^\/recordings\/([\d.]+)\.wav$/.exec(request.url ?? '')?.[1];
    if (seconds !== undefined) {
      response.end(drawAudio('a station', Number(seconds)));
      return;
    }
    const file = /^\/files\/([\w.]+)$/.exec(request.url ?? '')?.[1];
    if (file !== undefined) {
      response.end(await readFile(packageFile(`packages/media/test/files/${file}`)));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = Buffer.concat(chunks).toString('latin1');
    if (request.method === 'POST') this.forms.push(form);
    const model = /name="model"\r\n\r\n(\w+)/.exec(form)?.[1] ?? 'job';
    response.setHeader('content-type', model === 'html' ? 'text/html' : 'application/json');
    response.end(ANSWERS[model]);
  }
}

/** Its jobs report nothing about the length of a recording. */
const QUIET = 'quiet_job';

const upstreamOf = (model: string, url: string): object =>
  model.endsWith('job')
    ? {
        protocol: 'http',
        baseUrl: url,
        model,
        http: {
          submit: { path: "'/jobs'", body: "{ 'audio': audio_url }" },
          jobId: 'id',
          poll: { path: "'/jobs/' & $jobId", state: "status = 'succeeded' ? 'done' : 'running'" },
          outputs: "{ 'transcript': result }",
          ...(model === QUIET ? {} : { usage: "{ 'inputSeconds': result.duration }" }),
        },
      }
    : { protocol: 'openai', baseUrl: `${url}/v1`, model };

const definitionOf = (model: string, url: string): object => ({
  name: `test/${model}`,
  modality: 'transcription',
  ownedBy: 'test',
  created: 1_763_683_200,
  description: 'a test of transcriptions',
  routes: { default: { upstreams: [upstreamOf(model, url)] } },
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    required: ['audio_url'],
    properties: {
      audio_url: { type: 'string', maxLength: 2048, contentMediaType: 'audio/*' },
      formats: {
        type: 'array',
        items: { enum: ['text', 'json', 'srt', 'vtt'] },
        minItems: 1,
        uniqueItems: true,
        default: ['text', 'json', 'srt', 'vtt'],
      },
      max_seconds: { type: 'integer', minimum: 1, maximum: 3600, default: 60 },
    },
  },
  pricing: { unit: 'input_second', usd: '0.001', hold: { field: 'max_seconds', default: 60 } },
  typicalSeconds: 1,
  examples: [{ audio_url: 'https://example.com/a.mp3' }],
});

describe('a transcription', { concurrency: true }, () => {
  let server: TranscriptionServer;
  let modelsDir: string;
  let darkroom: Darkroom;
  before(async () => {
    server = await new TranscriptionServer().start();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    for (const model of [...Object.keys(ANSWERS), QUIET]) {
      await writeFile(path.join(modelsDir, `${model}.json`), JSON.stringify(definitionOf(model, server.url)));
    }
    darkroom = await startDarkroom({ environment: { EGRESS_ALLOW: server.url, MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom?.stop();
    server?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function run(model: string, seconds: number, more: object = {}): Promise<ApiTask> {
    const account: TestAccount = await darkroom.createAccount();
    const input = { audio_url: `${server.url}/recordings/${seconds}.wav`, ...more };
    const { status, body } = await account.client.create({ model: `test/${model}`, input });
    assert.equal(status, 200, JSON.stringify(body));
    const task = await account.client.waitForTerminal(body.data.taskId);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    return task;
  }

  it('has a file of each format, of the type and name that belong to it', async () => {
    const task = await run('whisper', 2.5);

    assert.equal(task.status, 'success', JSON.stringify(task));
    const outputs = task.output ?? [];
    assert.deepEqual(
      outputs.map(({ type, mimeType }) => [type, mimeType]),
      [
        ['text', 'text/plain'],
        ['text', 'application/json'],
        ['text', 'application/x-subrip'],
        ['text', 'text/vtt'],
      ],
    );
    const answers = await Promise.all(outputs.map(async ({ url }) => fetch(url)));
    assert.deepEqual(
      answers.map(({ headers }) => headers.get('content-type')),
      outputs.map(({ mimeType }) => `${mimeType}; charset=utf-8`),
    );
    assert.ok(answers.every(({ headers }) => headers.get('x-content-type-options') === 'nosniff'));
    assert.deepEqual(
      outputs.map(({ url }) => new URL(url).pathname.split('.').at(-1)),
      ['txt', 'json', 'srt', 'vtt'],
    );
    const [text, json, srt, vtt] = await Promise.all(answers.map((answer) => answer.text()));
    assert.equal(text, 'Mind the <gap>. Doors close.\n');
    assert.equal((JSON.parse(json ?? '') as { segments: unknown[] }).segments.length, 2);
    assert.match(srt ?? '', /^1\n00:00:00,000 --> 00:00:01,200\nMind the <gap>\.\n\n2\n/);
    assert.match(vtt ?? '', /^WEBVTT\n\n00:00:00\.000 --> 00:00:01\.200\nMind the &lt;gap&gt;\.\n/);
    assert.deepEqual(task.billing, { currency: 'USD', held: '0.06', captured: '0.0025', released: '0.0575' });
  });

  it('has only the files that were asked for, in their order', async () => {
    const task = await run('whisper', 2.5, { formats: ['vtt', 'text'], max_seconds: 3 });

    assert.deepEqual(
      task.output?.map(({ mimeType }) => mimeType),
      ['text/vtt', 'text/plain'],
    );
    assert.equal(task.billing.held, '0.003');
  });

  for (const [model, reported] of [
    ['unmeasured', 'nothing'],
    ['zero', '0'],
    ['overlong', 'more than was held for'],
  ] as const) {
    it(`is priced by its measured length where the provider reports ${reported}`, async () => {
      const task = await run(model, 4, { max_seconds: 10, formats: ['text'] });

      const billing = { currency: 'USD', held: '0.01', captured: '0.004', released: '0.006' };
      assert.deepEqual(task.billing, billing, JSON.stringify(task));
    });
  }

  it('fails before anything is sent when the recording is longer than was held for', async () => {
    const before = server.forms.length;
    const task = await run('html', 8, { max_seconds: 7 });

    assert.equal(task.status, 'fail');
    assert.equal(task.error?.reason, 'input_invalid');
    assert.equal(task.error.field, 'audio_url');
    assert.match(task.error.message, /^audio_url: the file is longer than the seconds that the price was held for/);
    assert.equal(task.billing.captured, '0');
    assert.ok(server.forms.slice(before).every((form) => !form.includes('\r\n\r\nhtml\r\n')));
  });

  it('has no subtitles when the provider reports no times, and fails without a charge if nothing else is wanted', async () => {
    const task = await run('untimed', 1);
    const subtitles = await run('untimed', 1, { formats: ['srt', 'vtt'] });

    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.deepEqual(
      task.output?.map(({ mimeType }) => mimeType),
      ['text/plain', 'application/json'],
    );
    assert.equal(subtitles.error?.reason, 'no_output', JSON.stringify(subtitles));
    assert.equal(subtitles.billing.captured, '0');
  });

  for (const [file, captured] of [
    ['live.webm', '0.003008'],
    ['mp42_audio.m4a', '0.003'],
    ['safari.mp4', '0.003064'],
  ] as const) {
    it(`takes ${file} from a URL for audio, and is priced by its counted packets`, async () => {
      const account = await darkroom.createAccount();
      const input = { audio_url: `${server.url}/files/${file}`, formats: ['text'] };
      const { body } = await account.client.create({ model: 'test/unmeasured', input });
      const task = await account.client.waitForTerminal(body.data.taskId);

      assert.equal(task.status, 'success', JSON.stringify(task));
      assert.equal(task.billing.captured, captured);
    });
  }

  it('is not sent if the recording is empty', async () => {
    const task = await run('whisper', 0);

    assert.equal(task.error?.reason, 'input_invalid', JSON.stringify(task));
  });

  it('fails when the recording is no audio', async () => {
    const account = await darkroom.createAccount();
    const input = { audio_url: `${server.url}/index.html` };
    const { body } = await account.client.create({ model: 'test/whisper', input });
    const task = await account.client.waitForTerminal(body.data.taskId);

    assert.equal(task.error?.reason, 'input_invalid', JSON.stringify(task));
  });

  it('comes from a job of any API whose outputs give a transcript', async () => {
    const task = await run('job', 2.5, { formats: ['srt'] });

    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output] = task.output ?? [];
    assert.match(await (await fetch(output?.url ?? '')).text(), /Doors close\.\n$/);
    assert.equal(task.billing.captured, '0.0025');
    assert.ok(server.forms.some((form) => form.includes('"audio":"http')));

    const quiet = await run(QUIET, 4);
    assert.equal(quiet.billing.captured, '0.004', JSON.stringify(quiet));
  });
});

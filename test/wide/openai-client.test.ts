/**
 * OpenAI's official client for JavaScript, unmodified, against a running Darkroom: the results of each method, its
 * errors, and its automatic retries when it gives up, when the api is killed and when it stops.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import sharp from 'sharp';
import { verifyLedger } from '../../src/billing/verify.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { compatibleDefinition, compatibleTranscriptionDefinition } from '../catalogue/definitions.ts';
import { installClients } from '../oracle/client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';

/** What is used of the client; it is not a dependency, so its types are not here. */
interface OpenAiClient {
  readonly images: { generate(body: object): Call<ImagesAnswer> };
  readonly audio: {
    readonly speech: { create(body: object): Promise<Response> };
    readonly transcriptions: { create(body: object): Promise<unknown> };
  };
  readonly models: { list(): AsyncIterable<{ id: string; endpoints: string[] }> };
}
type Call<Value> = Promise<Value> & { withResponse(): Promise<{ data: Value; response: Response }> };
interface ImagesAnswer {
  readonly data: readonly { readonly b64_json?: string; readonly url?: string }[];
  readonly size?: string;
  readonly output_format?: string;
}
interface OpenAiModule {
  readonly default: new (options: object) => OpenAiClient;
  toFile(bytes: Buffer, name: string): Promise<unknown>;
  readonly BadRequestError: new () => Error;
  readonly AuthenticationError: new () => Error;
  readonly APIError: new () => Error & { status: number; code: string | null; param: string | null };
}

/** What the upstream of transcriptions answers. */
const SPOKEN = {
  task: 'transcribe',
  language: 'english',
  duration: 2.5,
  text: ' Mind the gap.',
  segments: [{ id: 0, start: 0, end: 2.5, text: ' Mind the gap.' }],
};

describe("OpenAI's official client", () => {
  let openai: OpenAiModule;
  let provider: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  let api: Role;
  const speaker = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(SPOKEN));
    });
  });
  before(async () => {
    const file = path.join(await installClients(), 'node_modules', 'openai', 'index.mjs');
    // Installed outside the repository, for tests alone.
    openai = (await import(pathToFileURL(file).href)) as OpenAiModule;
    provider = await startTestProvider();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    const upstream = { protocol: 'tasks', baseUrl: `${provider.url}/tasks/v1`, secret: 'test', model: 'owner/model' };
    const slow = compatibleDefinition({ name: 'acme/slow', routes: { default: { upstreams: [upstream] } } });
    await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(slow));
    speaker.listen(0, '127.0.0.1');
    await once(speaker, 'listening');
    const speakerUrl = `http://127.0.0.1:${(speaker.address() as AddressInfo).port}`;
    const listens = { protocol: 'openai', baseUrl: `${speakerUrl}/v1`, secret: 'test', model: 'whisper' };
    const transcribing = compatibleTranscriptionDefinition({ routes: { default: { upstreams: [listens] } } });
    await writeFile(path.join(modelsDir, 'transcribing.json'), JSON.stringify(transcribing));
    darkroom = await startDarkroom({
      apis: 1,
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: `${provider.url},${speakerUrl}`,
        DRAIN_SECONDS: '0',
        SHUTDOWN_GRACE_SECONDS: '10',
      },
    });
    api = darkroom.apis[0] ?? assert.fail();
  });
  after(async () => {
    await darkroom?.stop();
    await provider?.stop();
    speaker.closeAllConnections();
    speaker.close();
    await rm(modelsDir, { recursive: true, force: true });
  });

  const clientOf = (account: TestAccount, options: object = {}): OpenAiClient =>
    new openai.default({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1`, ...options });

  async function tasksOf({ id }: TestAccount): Promise<readonly { id: string; status: string; captured: string }[]> {
    return darkroom.testDatabase.database.query(
      {
        name: 'test_tasks_of_account',
        text: 'SELECT id, status, captured_micro_usd::text AS captured FROM tasks WHERE account_id = $1',
      },
      [id],
    );
  }

  /** One task, one charge, and sums that agree. */
  async function assertOneCharge(account: TestAccount): Promise<void> {
    const tasks = await tasksOf(account);
    assert.deepEqual(
      tasks.map(({ status, captured }) => [status, captured]),
      [['success', '10000']],
    );
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  }

  it('lists the models with the endpoints that they answer', async () => {
    const account = await darkroom.createAccount();
    const endpoints = new Map<string, string[]>();
    for await (const model of clientOf(account).models.list()) endpoints.set(model.id, model.endpoints);

    assert.deepEqual(endpoints.get('darkroom/scene'), ['/v1/tasks', '/v1/images/generations']);
    assert.deepEqual(endpoints.get('darkroom/speech'), ['/v1/tasks', '/v1/audio/speech']);
  });

  it('generates images, as base64 and as URLs, with the id of the task', async () => {
    const account = await darkroom.createAccount();
    const { images } = clientOf(account);
    const request = { model: 'darkroom/scene', prompt: 'a lake', size: '1024x1024' };
    const { data, response } = await images.generate(request).withResponse();
    const withUrl = await images.generate({ ...request, output_format: 'webp', response_format: 'url' });

    const { width, height, format } = await sharp(Buffer.from(data.data[0]?.b64_json ?? '', 'base64')).metadata();
    assert.deepEqual([width, height, format], [1024, 1024, 'png']);
    assert.deepEqual([data.size, data.output_format], ['1024x1024', 'png']);
    const task = await account.client.get(response.headers.get('x-darkroom-task-id') ?? '');
    assert.equal(task.body.data.status, 'success');
    const downloaded = await fetch(withUrl.data[0]?.url ?? '');
    assert.equal(downloaded.headers.get('content-type'), 'image/webp');
  });

  it('generates several images of one task', async () => {
    const account = await darkroom.createAccount();
    const request = { model: 'darkroom/canvas', prompt: 'a lake', n: 3, size: '1024x1024', quality: 'low' };
    const { data } = await clientOf(account).images.generate(request);

    assert.equal(new Set(data.map(({ b64_json: base64 }) => base64)).size, 3);
    assert.equal((await tasksOf(account)).length, 1);
  });

  it('generates speech', async () => {
    const account = await darkroom.createAccount();
    const request = {
      model: 'darkroom/speech',
      input: 'High water is at six.',
      voice: 'alloy',
      response_format: 'wav',
    };
    const response = await clientOf(account).audio.speech.create(request);

    assert.equal(response.headers.get('content-type'), 'audio/wav');
    assert.equal(Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 4), 'RIFF');
  });

  it('transcribes, in each format', async () => {
    const account = await darkroom.createAccount();
    const { transcriptions } = clientOf(account).audio;
    const transcribe = async (format: string): Promise<unknown> => {
      const file = await openai.toFile(drawAudio('a station', 2.5), 'station.wav');
      return transcriptions.create({ model: 'acme/compatible-transcription', file, response_format: format });
    };

    assert.deepEqual(await transcribe('json'), { text: 'Mind the gap.', usage: { type: 'duration', seconds: 3 } });
    assert.equal(await transcribe('text'), 'Mind the gap.\n');
    assert.match(String(await transcribe('srt')), /^1\n00:00:00,000 --> 00:00:02,500\nMind the gap\./);
    assert.match(String(await transcribe('vtt')), /^WEBVTT\n/);
    const { segments, language } = (await transcribe('verbose_json')) as { segments: object[]; language: string };
    assert.equal(segments.length, 1);
    assert.equal(language, 'english');
    assert.deepEqual(
      (await tasksOf(account)).map(({ status, captured }) => [status, captured]),
      Array.from({ length: 5 }, () => ['success', '2500']),
    );
  });

  it('reports what is rejected with its own classes of errors', async () => {
    const account = await darkroom.createAccount();
    const { images, audio } = clientOf(account);
    const request = { model: 'darkroom/scene', prompt: 'a lake' };
    const rejections: readonly (readonly [
      () => Promise<unknown>,
      new () => Error,
      number,
      string | null,
      string | null,
    ])[] = [
      [() => images.generate({ ...request, size: '7x7' }), openai.BadRequestError, 400, 'size', 'invalid_value'],
      [() => images.generate({ ...request, n: 2 }), openai.BadRequestError, 400, 'n', 'unsupported_parameter'],
      [
        () => images.generate({ ...request, model: 'no-model' }),
        openai.BadRequestError,
        400,
        'model',
        'model_not_found',
      ],
      [
        () => audio.speech.create({ model: 'darkroom/speech', input: 'a', voice: 'none' }),
        openai.BadRequestError,
        400,
        'voice',
        'invalid_value',
      ],
      [
        () => clientOf(account, { apiKey: 'none' }).images.generate(request),
        openai.AuthenticationError,
        401,
        null,
        'permission_denied',
      ],
    ];
    for (const [call, type, status, param, code] of rejections) {
      await assert.rejects(call(), (error: unknown) => {
        assert.ok(error instanceof type && error instanceof openai.APIError, String(error));
        assert.deepEqual([error.status, error.param, error.code], [status, param, code]);
        return true;
      });
    }
    assert.deepEqual(await tasksOf(account), []);
  });

  it('gets the image of its first attempt when it gives up waiting and tries again', async () => {
    const account = await darkroom.createAccount();
    const { images } = clientOf(account, { timeout: 700, maxRetries: 20 });
    const { data } = await images.generate({ model: 'acme/slow', prompt: 'a boat [slow 4000]' });

    assert.equal(data.length, 1);
    await assertOneCharge(account);
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    it(`gets the image of its first attempt when the api ends by ${signal} meanwhile`, async () => {
      const account = await darkroom.createAccount();
      const { images } = clientOf(account, { maxRetries: 20 });
      const generating = images.generate({ model: 'acme/slow', prompt: 'a boat [slow 6000]' });
      await waitFor('the task is handled', async () => (await tasksOf(account))[0]?.status === 'handling');
      await api.kill(signal);
      await api.start();
      const { data } = await generating;

      assert.equal(data.length, 1);
      await assertOneCharge(account);
    });
  }

  it('gets a result of its own for each of several equal requests when the api is killed', async () => {
    const account = await darkroom.createAccount();
    const { images } = clientOf(account, { maxRetries: 20 });
    const request = { model: 'acme/slow', prompt: 'a boat [slow 6000]' };
    const generating = Promise.all([0, 1, 2].map(() => images.generate(request).withResponse()));
    await waitFor('the tasks exist', async () => (await tasksOf(account)).length === 3);
    await api.kill();
    await api.start();
    const responses = await generating;

    const ids = responses.map(({ response }) => response.headers.get('x-darkroom-task-id'));
    assert.deepEqual(new Set(ids), new Set((await tasksOf(account)).map(({ id }) => id)));
    assert.equal(new Set(ids).size, 3);
  });
});

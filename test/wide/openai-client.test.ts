/**
 * OpenAI's official client for JavaScript, unmodified, against a running Darkroom: the results of images and audio, its
 * errors, and its automatic retries when it gives up, when the api is killed and when it stops.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI, { APIError, AuthenticationError, BadRequestError, toFile } from 'openai';
import type { ClientOptions } from 'openai';
import sharp from 'sharp';
import { waitFor } from '@darkroom/testing/wait-for';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { startOpenAiDarkroom } from './openai-darkroom.ts';
import type { OpenAiDarkroom } from './openai-darkroom.ts';

describe("OpenAI's official client", () => {
  let started: OpenAiDarkroom;
  let darkroom: Darkroom;
  let api: Role;
  before(async () => {
    started = await startOpenAiDarkroom();
    ({ darkroom, api } = started);
  });
  after(() => started?.stop());

  const clientOf = (account: TestAccount, options: ClientOptions = {}): OpenAI =>
    new OpenAI({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1`, ...options });

  const tasksOf = (account: TestAccount) => started.tasksOf(account);
  const pngOf = async (background: string, name = 'photo.png') => {
    const size = { width: 96, height: 64, channels: 3, background } as const;
    return toFile(await sharp({ create: size }).png().toBuffer(), name);
  };
  const spoken = async () => ({
    model: 'acme/compatible-transcription',
    file: await toFile(drawAudio('a station', 2.5), 'station.wav'),
  });

  it('lists the models with the endpoints that they answer', async () => {
    const account = await darkroom.createAccount();
    const endpoints = new Map<string, unknown>();
    // OpenAI's models have no such member.
    for await (const model of clientOf(account).models.list())
      endpoints.set(model.id, 'endpoints' in model ? model.endpoints : undefined);

    assert.deepEqual(endpoints.get('darkroom/scene'), ['/v1/tasks', '/v1/images/generations']);
    assert.deepEqual(endpoints.get('darkroom/edit'), ['/v1/tasks', '/v1/images/edits']);
    assert.deepEqual(endpoints.get('darkroom/speech'), ['/v1/tasks', '/v1/audio/speech']);
  });

  it('generates images, as base64 and as URLs, with the id of the task', async () => {
    const account = await darkroom.createAccount();
    const { images } = clientOf(account);
    const request = { model: 'darkroom/scene', prompt: 'a lake', size: '1024x1024' };
    const { data, response } = await images.generate(request).withResponse();
    const withUrl = await images.generate({ ...request, output_format: 'webp', response_format: 'url' });

    const { width, height, format } = await sharp(Buffer.from(data.data?.[0]?.b64_json ?? '', 'base64')).metadata();
    assert.deepEqual([width, height, format], [1024, 1024, 'png']);
    assert.deepEqual([data.size, data.output_format], ['1024x1024', 'png']);
    const task = await account.client.get(response.headers.get('x-darkroom-task-id') ?? '');
    assert.equal(task.body.data.status, 'success');
    const downloaded = await fetch(withUrl.data?.[0]?.url ?? '');
    assert.equal(downloaded.headers.get('content-type'), 'image/webp');
  });

  it('generates several images of one task', async () => {
    const account = await darkroom.createAccount();
    const request = { model: 'darkroom/canvas', prompt: 'a lake', n: 3, size: '1024x1024', quality: 'low' } as const;
    const { data } = await clientOf(account).images.generate(request);

    assert.equal(new Set(data?.map(({ b64_json: base64 }) => base64)).size, 3);
    assert.equal((await tasksOf(account)).length, 1);
  });

  it('streams images, one event for each', async () => {
    const account = await darkroom.createAccount();
    const { images } = clientOf(account);
    const request = { model: 'darkroom/canvas', prompt: 'a lake', n: 2, size: '1024x1024', quality: 'low' } as const;
    const events = await collected(await images.generate({ ...request, stream: true, partial_images: 2 }));

    assert.deepEqual(
      events.map(({ type, size }) => [type, size]),
      [
        ['image_generation.completed', '1024x1024'],
        ['image_generation.completed', '1024x1024'],
      ],
    );
    const { format } = await sharp(Buffer.from(events[1]?.b64_json ?? '', 'base64')).metadata();
    assert.equal(format, 'png');
    assert.equal((await tasksOf(account)).length, 1);
  });

  it('edits one image, and several, also as a stream', async () => {
    const account = await darkroom.createAccount();
    const { images } = clientOf(account);
    const request = { model: 'darkroom/edit', prompt: 'black and white', size: '1024x1024' };
    const { data, response } = await images.edit({ ...request, image: await pngOf('#c33') }).withResponse();
    const several = [await pngOf('#c33', 'a.png'), await pngOf('#3c3', 'b.png')];
    const events = await collected(await images.edit({ ...request, image: several, stream: true }));

    const { width, height } = await sharp(Buffer.from(data.data?.[0]?.b64_json ?? '', 'base64')).metadata();
    assert.deepEqual([width, height, data.size], [1024, 1024, '1024x1024']);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['image_edit.completed'],
    );
    const task = await account.client.get(response.headers.get('x-darkroom-task-id') ?? '');
    assert.equal(task.body.data.model, 'darkroom/edit');
    const statuses = (await tasksOf(account)).map(({ status }) => status);
    assert.deepEqual(statuses, ['success', 'success']);
  });

  it('generates speech', async () => {
    const account = await darkroom.createAccount();
    const words = { model: 'darkroom/speech', input: 'High water is at six.', voice: 'alloy' };
    const response = await clientOf(account).audio.speech.create({ ...words, response_format: 'wav' });

    assert.equal(response.headers.get('content-type'), 'audio/wav');
    assert.equal(Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 4), 'RIFF');
  });

  it('transcribes, in each format', async () => {
    const account = await darkroom.createAccount();
    const { transcriptions } = clientOf(account).audio;
    const transcribe = async (format: OpenAI.AudioResponseFormat): Promise<unknown> =>
      transcriptions.create({ ...(await spoken()), response_format: format });

    assert.deepEqual(await transcribe('json'), {
      text: 'Mind the gap. The doors close.',
      usage: { type: 'duration', seconds: 3 },
    });
    assert.equal(await transcribe('text'), 'Mind the gap. The doors close.\n');
    assert.match(String(await transcribe('srt')), /^1\n00:00:00,000 --> 00:00:01,500\nMind the gap\./);
    assert.match(String(await transcribe('vtt')), /^WEBVTT\n/);
    const { segments, language } = (await transcribe('verbose_json')) as { segments: object[]; language: string };
    assert.equal(segments.length, 2);
    assert.equal(language, 'english');
    assert.deepEqual(
      (await tasksOf(account)).map(({ status, captured }) => [status, captured]),
      Array.from({ length: 5 }, () => ['success', '2500']),
    );
  });

  it('streams a transcript, and translates', async () => {
    const account = await darkroom.createAccount();
    const { transcriptions, translations } = clientOf(account).audio;
    const translate = async (format: 'json' | 'verbose_json' | 'text'): Promise<unknown> =>
      translations.create({ ...(await spoken()), response_format: format });
    const events = await collected(
      await transcriptions.create({ ...(await spoken()), stream: true, response_format: 'text' }),
    );

    assert.deepEqual(events, [
      { type: 'transcript.text.delta', delta: 'Mind the gap.' },
      { type: 'transcript.text.delta', delta: ' The doors close.' },
      { type: 'transcript.text.done', text: 'Mind the gap. The doors close.' },
    ]);
    assert.equal(((await translate('json')) as { text: string }).text, 'Watch out.');
    assert.equal(((await translate('verbose_json')) as { language: string }).language, 'english');
    assert.equal(await translate('text'), 'Watch out.\n');
  });

  it('reports what is rejected with its own classes of errors', async () => {
    const account = await darkroom.createAccount();
    const { images, audio } = clientOf(account);
    const request = { model: 'darkroom/scene', prompt: 'a lake' };
    const edit = async (file: Buffer) =>
      images.edit({ ...request, model: 'darkroom/edit', image: await toFile(file, 'a') });
    const words = { model: 'darkroom/speech', input: 'a', voice: 'none' };
    const rejections: readonly (readonly [() => Promise<unknown>, number, string | null, string])[] = [
      [() => images.generate({ ...request, size: '7x7' }), 400, 'size', 'invalid_value'],
      [() => images.generate({ ...request, n: 2 }), 400, 'n', 'unsupported_parameter'],
      [() => images.generate({ ...request, model: 'no-model' }), 400, 'model', 'model_not_found'],
      [() => edit(Buffer.from('a')), 400, 'image', 'unsupported_file_mimetype'],
      [() => images.generate({ ...request, stream: true, size: '7x7' }), 400, 'size', 'invalid_value'],
      [() => audio.speech.create(words), 400, 'voice', 'invalid_value'],
      [() => clientOf(account, { apiKey: 'none' }).images.generate(request), 401, null, 'permission_denied'],
    ];
    for (const [call, status, param, code] of rejections) {
      const type = status === 401 ? AuthenticationError : BadRequestError;
      await assert.rejects(call(), (error: unknown) => {
        assert.ok(error instanceof type && error instanceof APIError, String(error));
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

    assert.equal(data?.length, 1);
    await started.assertOneCharge(account);
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

      assert.equal(data?.length, 1);
      await started.assertOneCharge(account);
    });
  }

  it('gets the stream of its first attempt when the api is killed before there is an event', async () => {
    const account = await darkroom.createAccount();
    const { images } = clientOf(account, { maxRetries: 20 });
    const streaming = images.generate({ model: 'acme/slow', prompt: 'a boat [slow 6000]', stream: true });
    await waitFor('the task is handled', async () => (await tasksOf(account))[0]?.status === 'handling');
    await api.kill();
    await api.start();
    const events = await collected(await streaming);

    assert.equal(events.length, 1);
    await started.assertOneCharge(account);
  });

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

async function collected<Event>(events: AsyncIterable<Event>): Promise<readonly Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

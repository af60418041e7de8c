/** Servers with the interface of OpenAI (LocalAI, vLLM-Omni, SGLang), compared with `openai`. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { cancelled, polled, reasonOf, submitted } from './answers.ts';
import { withClient } from './client.ts';
import { assertSameRequest, mapped } from './oracle.ts';

const ID = 'video_123';
const IMAGE = { model: 'openai_compatible/image', input: { prompt: 'a boat' } };
const VIDEO = { model: 'openai_compatible/video', input: { prompt: 'a boat' } };
const call = { signal: new AbortController().signal };
const video = (status: string, more: object = {}) => ({ id: ID, object: 'video', status, ...more });

describe('the mapping of OpenAI-compatible servers', () => {
  it('sends what the client sends for images and speech, and takes their files', async () => {
    const sound = Buffer.from('a sound');
    const script = ({ url }: Recorded, response: ServerResponse): unknown => {
      if (url.endsWith('/images/generations')) {
        return { created: 1, data: [{ url: 'http://127.0.0.1:8080/generated-images/b.png' }, { b64_json: 'YQ==' }] };
      }
      response.setHeader('content-type', 'audio/wav').end(sound);
      return undefined;
    };
    await withRecorder(script, async ({ origin, requests }) => {
      await withClient('openai_compatible', origin, async (client) => {
        await withScratch(async ({ call: submit }) => {
          const image = mapped('openai_compatible/image', origin);
          const input = { prompt: 'a boat', n: 2, size: '512x512' };
          assert.deepEqual(await image.provider.submit(image.requestFor(input), submit), {
            kind: 'done',
            files: [
              { from: 'url', url: 'http://127.0.0.1:8080/generated-images/b.png' },
              { from: 'bytes', bytes: Buffer.from('a') },
            ],
          });
          await client.call('image', { ...input, model: 'stablediffusion' });

          const speech = mapped('openai_compatible/speech', origin);
          const spoken = { text: 'Good morning.', voice: 'alloy', format: 'wav', speed: 1.5 };
          const submission = await speech.provider.submit(speech.requestFor(spoken), submit);
          assert.equal(submission.kind, 'done');
          const { value } = await client.call('speech', {
            input: 'Good morning.',
            voice: 'alloy',
            response_format: 'wav',
            speed: 1.5,
            model: 'tts-1',
          });
          assert.equal(value, sound.toString('base64'));

          const [ofImage, ofImageClient, ofSpeech, ofSpeechClient] = requests;
          assertSameRequest(ofImage, ofImageClient, { host: image.host });
          assertSameRequest(ofSpeech, ofSpeechClient, { host: speech.host });
        });
      });
    });
  });

  it('sends what the client sends for videos, and takes job and file from the same answers', async () => {
    const frame = Buffer.from('a frame');
    const script = ({ method, url }: Recorded): unknown =>
      method === 'DELETE'
        ? { id: ID, deleted: true, object: 'video.deleted' }
        : video(url.endsWith('q') ? 'queued' : 'in_progress', { progress: 50 });
    await withRecorder(script, async ({ origin, requests }) => {
      await withClient('openai_compatible', origin, async (client) => {
        await withScratch(async ({ call: submit, inputFile }) => {
          const { provider, requestFor, host } = mapped('openai_compatible/video', origin);
          const input = { prompt: 'a boat', image_url: 'https://a.example/1', duration: 4, size: '1280x704' };
          const media = new Map([['image_url', await inputFile('image/png', frame)]]);
          const request = requestFor(input, media);

          assert.deepEqual(await provider.submit(request, submit), { kind: 'job', jobId: ID });
          await client.call('createVideo', {
            model: 'Wan-AI/Wan2.2-TI2V-5B-Diffusers',
            prompt: 'a boat',
            seconds: '4',
            size: '1280x704',
            reference: frame.toString('base64'),
          });
          assert.deepEqual(await provider.poll(request, ID, call), { kind: 'running', progress: 0.5 });
          const { value } = await client.call('video', ID);
          assert.equal((value as { progress: number }).progress, 50);
          assert.equal((await provider.cancel(request, ID, call)).outcome, 'cancelled');
          await client.call('deleteVideo', ID);

          const [create, createOfClient, poll, pollOfClient, , cancel, cancelOfClient] = requests;
          assertSameRequest(create, createOfClient, { host });
          assertSameRequest(poll, pollOfClient, { host });
          assertSameRequest(cancel, cancelOfClient, { host });
        });
      });
    });
  });

  it('fetches the file of a video where the client does', async () => {
    const script = ({ url }: Recorded, response: ServerResponse): unknown => {
      if (!url.endsWith('/content')) return video('completed', { progress: 100 });
      response.setHeader('content-type', 'video/mp4').end('a video');
      return undefined;
    };
    await withRecorder(script, async ({ origin, requests }) => {
      await withClient('openai_compatible', origin, async (client) => {
        const { provider, requestFor } = mapped('openai_compatible/video', origin);
        const state = await provider.poll(requestFor(VIDEO.input), ID, call);
        await client.call('content', ID);
        const theirs = `${origin}${requests.at(-1)?.url}`;
        assert.deepEqual(state, { kind: 'done', files: [{ from: 'url', url: theirs }] });
      });
    });
  });

  it('fails with the job, and when the server has forgotten it', async () => {
    assert.deepEqual(await polled(VIDEO, ID, { json: video('queued') }), { result: { kind: 'running' } });
    const failed = video('failed', { error: { code: 'server_error', message: 'out of memory' } });
    assert.deepEqual(await polled(VIDEO, ID, { json: failed }), { failed: 'provider_error' });
    assert.deepEqual(await polled(VIDEO, ID, { status: 404, json: {} }), { failed: 'provider_error' });
    assert.equal(await cancelled(VIDEO, ID, { json: video('completed') }), 'too_late');
  });

  it('takes an error for a rejection, as the client does', async () => {
    const script = (_: Recorded, response: ServerResponse): unknown => {
      response.statusCode = 400;
      return { error: { message: 'size', type: 'invalid_request_error', code: null } };
    };
    await withRecorder(script, async ({ origin }) => {
      await withClient('openai_compatible', origin, async (client) => {
        const { error } = await client.call('image', { model: 'stablediffusion', prompt: 'a boat' });
        assert.equal(error?.status, 400);
      });
    });
    for (const [status, reason] of [
      [400, 'input_invalid'],
      [401, 'model_unavailable'],
      [404, 'model_unavailable'],
      [429, 'provider_unavailable'],
      [503, 'provider_unavailable'],
    ] as const) {
      const answer = { status, json: { error: { message: 'x', type: 'x', code: null } } };
      assert.equal(reasonOf(await submitted(IMAGE, answer)), reason);
      assert.equal(reasonOf(await submitted(VIDEO, answer)), reason);
    }
    const hinted = await submitted(IMAGE, { status: 429, headers: { 'retry-after': '7' }, json: {} });
    assert.deepEqual(hinted, { rejected: 'provider_unavailable', retryAfterMs: 7_000 });
    await assert.rejects(submitted(VIDEO, { status: 500, json: {} }), { name: 'ProviderUnknown' });
  });
});

/**
 * OpenAI, compared with `openai` and https://developers.openai.com/api/reference: images, edits, speech and
 * transcriptions. It no longer offers videos itself; the tests of these are for the servers that have the same API.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { workCost } from '../../src/catalogue/work-cost.ts';
import { openAiProtocol } from '../../src/providers/openai/openai-provider.ts';
import { ProviderUnreachable } from '../../src/providers/provider.ts';
import type { GenerationRequest, InputFile } from '../../src/providers/provider.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { submitCall } from '../providers/submit-call.ts';
import { KEY, assertSameRequest, ended, mapped } from './oracle.ts';
import { IMAGE, itRejects, useClient, withFiles, withImages } from './session.ts';
import type { Rejection, Scripted } from './session.ts';

const call = { signal: new AbortController().signal };
const file = (name: string) => ({ base64: IMAGE.toString('base64'), name, type: 'image/png' });

const errorOf = (status: number, code: string | null, message: string, type = 'invalid_request_error'): Scripted => ({
  status,
  json: { error: { message, type, param: null, code } },
});

/** The errors that all its interfaces have. */
const REJECTIONS: readonly Rejection[] = [
  {
    what: 'moderation',
    answer: errorOf(400, 'moderation_blocked', 'Your request was rejected by the safety system.'),
    reason: 'content_rejected',
  },
  { what: 'an invalid input', answer: errorOf(400, 'invalid_value', 'Invalid value: size.'), reason: 'input_invalid' },
  {
    what: 'an unknown key',
    answer: errorOf(401, 'invalid_api_key', 'Incorrect API key provided.'),
    reason: 'model_unavailable',
  },
  {
    what: 'an organization that is not verified',
    answer: errorOf(403, null, 'Your organization must be verified to use the model.'),
    reason: 'model_unavailable',
  },
  {
    what: 'an exhausted balance',
    answer: errorOf(429, 'insufficient_quota', 'You exceeded your current quota.', 'insufficient_quota'),
    reason: 'model_unavailable',
  },
  {
    what: 'too many requests',
    answer: {
      ...errorOf(429, 'rate_limit_exceeded', 'Rate limit reached.', 'rate_limit_error'),
      headers: { 'retry-after-ms': '1500' },
    },
    reason: 'provider_unavailable',
    retryAfterMs: 1_500,
  },
];

describe('the mapping of OpenAI', () => {
  const session = useClient('openai');
  const images = {
    created: 1,
    data: [{ b64_json: IMAGE.toString('base64') }, { b64_json: 'aGk=' }],
    usage: {
      input_tokens: 1_000,
      input_tokens_details: { text_tokens: 200, image_tokens: 800 },
      output_tokens: 3_500,
      total_tokens: 4_500,
    },
  };
  const input = {
    prompt: 'a boat',
    size: '1536x1024',
    quality: 'medium',
    n: 2,
    background: 'opaque',
    output_format: 'webp',
    output_compression: 80,
  };

  it('asks for images as the official client does, and takes the same from the answer', async () => {
    session.answer({ json: images });
    const { definition, provider, requestFor, host } = mapped('openai/gpt-image-2', session.origin);
    const submission = await provider.submit(requestFor(input), submitCall());
    const { value } = await session.call('generate', { model: 'gpt-image-2', ...input });
    const [ours, theirs] = session.requests();
    assertSameRequest(ours, theirs, { host });
    const { data, usage } = value as {
      data: { b64_json: string }[];
      usage: { input_tokens: number; output_tokens: number; total_tokens: number };
    };
    const tokens = {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      totalTokens: usage.total_tokens,
    };
    assert.deepEqual(submission, {
      kind: 'done',
      files: data.map(({ b64_json: base64 }) => ({ from: 'bytes', bytes: Buffer.from(base64, 'base64') })),
      usage: tokens,
    });
    // The list has 5, 8 and 30 USD for a million tokens of text, of input images and of output. Text and input images
    // are one quantity of ours, at the higher rate.
    const rule = definition.routes['default']?.upstreams[0]?.cost;
    assert.equal(workCost(rule, input, 2, { usage: tokens }).cost?.microUsd, 1_000n * 8n + 3_500n * 30n);
  });

  const edits: readonly (readonly [string, readonly string[], boolean])[] = [
    ['one image', ['image_urls.0'], false],
    ['several images and a mask', ['image_urls.0', 'image_urls.1'], true],
  ];
  for (const [what, fields, hasMask] of edits) {
    it(`asks for an edit of ${what} as the official client does`, async () => {
      session.answer({ json: images });
      const { provider, requestFor, host } = mapped('openai/gpt-image-2', session.origin);
      const mask = hasMask ? { mask_url: 'https://example.com/m.png' } : {};
      const edit = { ...input, image_urls: fields.map(() => 'https://example.com/a.png'), ...mask };
      await withImages([...fields, ...Object.keys(mask)], (media, submit) =>
        provider.submit(requestFor(edit, media), submit),
      );
      await session.call('edit', {
        model: 'gpt-image-2',
        ...input,
        image: fields.length === 1 ? file('a.png') : fields.map(() => file('a.png')),
        ...(hasMask ? { mask: file('m.png') } : {}),
      });
      const [ours, theirs] = session.requests();
      assertSameRequest(ours, theirs, { host });
    });
  }

  itRejects(
    session,
    {
      ours() {
        const { provider, requestFor } = mapped('openai/gpt-image-2', session.origin);
        return provider.submit(requestFor(input), submitCall());
      },
      theirs: () => session.call('generate', { model: 'gpt-image-2', ...input }),
    },
    REJECTIONS,
  );

  const speeches: readonly (readonly [string, object, object])[] = [
    [
      'gpt-4o-mini-tts',
      { text: 'Hello', voice: 'coral', format: 'flac', speed: 1.5, instructions: 'Calm.' },
      { input: 'Hello', voice: 'coral', response_format: 'flac', speed: 1.5, instructions: 'Calm.' },
    ],
    ['tts-1', { text: 'Hello', voice: 'onyx' }, { input: 'Hello', voice: 'onyx' }],
  ];
  for (const [model, ours, theirs] of speeches) {
    it(`asks ${model} for speech as the official client does, and takes the same file`, async () => {
      session.answer({ file: { mimeType: 'audio/mpeg', bytes: Buffer.from('sound') } });
      const { provider, requestFor, host } = mapped(`openai/${model}`, session.origin);
      const submission = await provider.submit(requestFor({ ...ours }), submitCall());
      const { value } = await session.call('speech', { model, ...theirs });
      const [one, other] = session.requests();
      assertSameRequest(one, other, { host });
      const [produced] = submission.kind === 'done' ? submission.files : [];
      assert.ok(produced?.from === 'file');
      assert.equal((await readFile(produced.path)).toString('base64'), value);
    });
  }

  const sound = { base64: IMAGE.toString('base64'), name: 'audio.mp3', type: 'audio/mpeg' };
  const transcriptions: readonly (readonly [string, object, object, object])[] = [
    [
      'whisper-1',
      {
        task: 'transcribe',
        language: 'english',
        duration: 3.4,
        text: 'Mind the gap. The doors are closing.',
        segments: [
          { id: 0, start: 0, end: 1.5, text: ' Mind the gap.', tokens: [1], no_speech_prob: 0.01 },
          { id: 1, start: 1.5, end: 3.4, text: ' The doors are closing.', tokens: [2], no_speech_prob: 0.01 },
        ],
        usage: { type: 'duration', seconds: 4 },
      },
      { response_format: 'verbose_json' },
      { inputSeconds: 4 },
    ],
    [
      'gpt-4o-mini-transcribe',
      {
        text: 'Mind the gap. The doors are closing.',
        usage: { type: 'tokens', total_tokens: 101, input_tokens: 14, output_tokens: 87 },
      },
      { response_format: 'json' },
      { inputTokens: 14, outputTokens: 87, totalTokens: 101 },
    ],
  ];
  for (const [model, answer, format, usage] of transcriptions) {
    it(`asks ${model} for a transcription as the official client does, and takes the same text`, async () => {
      session.answer({ json: answer });
      const { provider, requestFor, host } = mapped(`openai/${model}`, session.origin);
      const options = { language: 'en', prompt: 'a station', temperature: 0.2 };
      const ours = { audio_url: 'https://example.com/a.mp3', ...options, formats: ['text', 'json'], max_seconds: 60 };
      const submission = await withFiles('audio/mpeg', ['audio_url'], (media, submit) =>
        provider.submit(requestFor(ours, media), submit),
      );
      const { value } = await session.call('transcribe', { model, ...options, ...format, file: sound });
      const [one, other] = session.requests();
      assertSameRequest(one, other, { host });
      assert.ok(submission.kind === 'done');
      assert.deepEqual(submission.usage, usage);
      const [text, json] = submission.files.map((each) => (each.from === 'bytes' ? String(each.bytes) : ''));
      const { text: theirs, segments } = value as { text: string; segments?: readonly { text: string }[] };
      assert.equal(text, `${theirs}\n`);
      const written = JSON.parse(json ?? '') as { text: string; segments?: readonly { text: string }[] };
      assert.equal(written.text, theirs);
      assert.deepEqual(
        written.segments?.map((segment) => segment.text),
        segments?.map((segment) => segment.text.trim()),
      );
    });
  }

  it('asks for a translation as the official client does, and takes the same text', async () => {
    session.answer({ json: { task: 'translate', language: 'english', duration: 1.5, text: 'Mind the gap.' } });
    const { provider, requestFor, host } = mapped('openai/whisper-1', session.origin);
    const options = { prompt: 'a station', temperature: 0.2 };
    const fields = { audio_url: 'https://example.com/a.mp3', ...options, formats: ['text'], max_seconds: 60 };
    const ours = { ...fields, translate: true, language: 'fr' };
    const submission = await withFiles('audio/mpeg', ['audio_url'], (media, submit) =>
      provider.submit(requestFor(ours, media), submit),
    );
    const theirs = { model: 'whisper-1', ...options, response_format: 'verbose_json', file: sound };
    const { value } = await session.call('translate', theirs);
    const [one, other] = session.requests();
    assertSameRequest(one, other, { host });
    assert.ok(submission.kind === 'done');
    const [text] = submission.files.map((each) => (each.from === 'bytes' ? String(each.bytes) : ''));
    assert.equal(text, `${(value as { text: string }).text}\n`);
  });

  it('has no files where only subtitles are wanted and the answer has no times', async () => {
    session.answer({ json: { text: 'Mind the gap.' } });
    const { provider, requestFor } = mapped('openai/whisper-1', session.origin);
    const input = { audio_url: 'https://example.com/a.mp3', formats: ['srt', 'vtt'] };
    const end = await withFiles('audio/mpeg', ['audio_url'], (media, submit) =>
      ended(provider.submit(requestFor(input, media), submit)),
    );
    assert.deepEqual(end, { failed: 'no_output' });
  });
});

describe('the mapping of the videos of OpenAI-compatible servers', () => {
  const session = useClient('openai');
  const ID = 'video_68d7512d07848190b3e45da0ecbebcde';
  const host = 'api.openai.com';

  const videos = (media?: ReadonlyMap<string, InputFile>) => {
    const upstream = { protocol: 'openai', baseUrl: `${session.origin}/v1`, secret: 'videos', model: 'sora-2' };
    const created = openAiProtocol.create({ secrets: { get: () => KEY }, logger: silentLogger() });
    const provider = created.boundTo?.(upstream, 'video') ?? created;
    const input = { prompt: 'a boat', duration: 8, size: '1280x720' };
    const request: GenerationRequest = {
      taskId: 'tk-svc-00000000000000000000000001',
      upstream,
      input,
      ...(media === undefined ? {} : { media }),
    };
    return { provider, request };
  };
  const video = (changes: object): Scripted => ({
    json: { id: ID, object: 'video', model: 'sora-2', status: 'queued', progress: 0, seconds: '8', ...changes },
  });
  const body = { model: 'sora-2', prompt: 'a boat', seconds: '8', size: '1280x720' };

  for (const hasImage of [false, true]) {
    it(`submits a prompt${hasImage ? ' and an image' : ''} as the official client does`, async () => {
      session.answer(video({}));
      const submission = await withImages(hasImage ? ['image_url'] : [], (media, submit) => {
        const { provider, request } = videos(media);
        return provider.submit(request, submit);
      });
      const image = hasImage ? { input_reference: file('reference.png') } : {};
      const { value } = await session.call('createVideo', { ...body, ...image });
      assert.deepEqual(submission, { kind: 'job', jobId: (value as { id: string }).id });
      const [ours, theirs] = session.requests();
      assertSameRequest(ours, theirs, { host });
    });
  }

  it('polls, deletes and fetches as the official client does', async () => {
    const { provider, request } = videos();
    session.answer(({ method }) =>
      method === 'DELETE' ? { json: { id: ID, object: 'video.deleted', deleted: true } } : video({}),
    );
    await provider.cancel(request, ID, call);
    await session.call('video', ID);
    await session.call('deleteVideo', ID);
    const [poll, deletion, pollOfClient, deletionOfClient] = session.requests();
    assertSameRequest(poll, pollOfClient, { host });
    assertSameRequest(deletion, deletionOfClient, { host });

    session.answer(video({ status: 'completed', progress: 100 }));
    const state = await provider.poll(request, ID, call);
    await session.call('videoContent', ID);
    const [, content] = session.requests();
    const url = `${session.origin}${content?.url}`;
    assert.deepEqual(state, { kind: 'done', files: [{ from: 'url', url }] });
  });

  it('reports progress', async () => {
    session.answer(video({ status: 'in_progress', progress: 33 }));
    const { provider, request } = videos();
    assert.deepEqual(await provider.poll(request, ID, call), { kind: 'running', progress: 0.33 });
    assert.equal(((await session.call('video', ID)).value as { progress: number }).progress, 33);
  });

  const failures: readonly (readonly [string, Scripted, string])[] = [
    [
      'moderation',
      video({ status: 'failed', error: { code: 'moderation_blocked', message: 'blocked' } }),
      'content_rejected',
    ],
    ['an error of the model', video({ status: 'failed', error: { code: 'internal', message: 'x' } }), 'provider_error'],
    ['a job that has expired', errorOf(404, null, 'Video not found.'), 'provider_error'],
  ];
  for (const [what, answer, reason] of failures) {
    it(`fails after ${what}, as it is for the official client`, async () => {
      session.answer(answer);
      const { provider, request } = videos();
      const { value, error } = await session.call('video', ID);
      assert.ok(error?.status === 404 || (value as { status: string }).status === 'failed');
      assert.deepEqual(await ended(provider.poll(request, ID, call)), { failed: reason });
    });
  }

  it('polls again after an error of the server', async () => {
    session.answer(errorOf(500, null, 'Internal Server Error'));
    const { provider, request } = videos();
    await assert.rejects(provider.poll(request, ID, call), ProviderUnreachable);
  });

  it('leaves a video that is finished', async () => {
    session.answer(video({ status: 'completed' }));
    const { provider, request } = videos();
    assert.deepEqual(await provider.cancel(request, ID, call), { outcome: 'too_late' });
    assert.deepEqual(
      session.requests().map(({ method }) => method),
      ['GET'],
    );
  });

  itRejects(
    session,
    {
      ours() {
        const { provider, request } = videos();
        return provider.submit(request, submitCall());
      },
      theirs: () => session.call('createVideo', body),
    },
    REJECTIONS,
  );
});

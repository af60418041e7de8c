/**
 * ElevenLabs, compared with `@elevenlabs/elevenlabs-js` and https://elevenlabs.io/docs/api-reference: speech, music and
 * sound effects, each answered with the file itself.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { submitCall } from '../providers/submit-call.ts';
import { assertSameRequest, ended, mapped } from './oracle.ts';
import { itRejects, useClient } from './session.ts';
import type { Rejection, Scripted } from './session.ts';

const VOICE = 'JBFqnCBsd6RMkjVDRZzb';

const errorOf = (status: number, code: string, message: string): Scripted => ({
  status,
  json: { detail: { status: code, message } },
});

const REJECTIONS: readonly Rejection[] = [
  { what: 'moderation', answer: errorOf(400, 'bad_prompt', 'Copyrighted.'), reason: 'content_rejected' },
  {
    what: 'an invalid input',
    answer: {
      status: 422,
      json: { detail: [{ loc: ['body', 'text'], msg: 'field required', type: 'value_error.missing' }] },
    },
    reason: 'input_invalid',
  },
  { what: 'an unknown voice', answer: errorOf(404, 'voice_not_found', 'No such voice.'), reason: 'input_invalid' },
  { what: 'an unknown key', answer: errorOf(401, 'invalid_api_key', 'Invalid API key'), reason: 'model_unavailable' },
  { what: 'an exhausted quota', answer: errorOf(401, 'quota_exceeded', 'No credits.'), reason: 'model_unavailable' },
  {
    what: 'too many requests',
    answer: {
      ...errorOf(429, 'too_many_concurrent_requests', 'Too many concurrent requests.'),
      headers: { 'retry-after': '3' },
    },
    reason: 'provider_unavailable',
    retryAfterMs: 3_000,
  },
];

interface Case {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The call of the official client. */
  readonly theirs: readonly [string, ...unknown[]];
}

const settings = { stability: 0.4, similarity_boost: 0.6, style: 0.1, use_speaker_boost: true, speed: 1.1 };
const voiceSettings = { stability: 0.4, similarityBoost: 0.6, style: 0.1, useSpeakerBoost: true, speed: 1.1 };

const CASES: readonly Case[] = [
  {
    model: 'eleven-v3',
    input: { text: 'Hello', voice: VOICE, language: 'en', format: 'wav', seed: 7, ...settings },
    theirs: [
      'speech',
      VOICE,
      { text: 'Hello', modelId: 'eleven_v3', languageCode: 'en', outputFormat: 'wav_24000', seed: 7, voiceSettings },
    ],
  },
  {
    model: 'eleven-multilingual-v2',
    input: { text: 'Hello', voice: VOICE, stability: 0.4 },
    theirs: [
      'speech',
      VOICE,
      {
        text: 'Hello',
        modelId: 'eleven_multilingual_v2',
        outputFormat: 'mp3_44100_128',
        voiceSettings: { stability: 0.4 },
      },
    ],
  },
  {
    model: 'eleven-flash-v2.5',
    input: { text: 'Hello', voice: VOICE, format: 'opus' },
    theirs: ['speech', VOICE, { text: 'Hello', modelId: 'eleven_flash_v2_5', outputFormat: 'opus_48000_128' }],
  },
  {
    model: 'music',
    input: { prompt: 'a waltz', duration: 60, instrumental: true, format: 'opus' },
    theirs: [
      'music',
      {
        prompt: 'a waltz',
        musicLengthMs: 60_000,
        modelId: 'music_v2',
        forceInstrumental: true,
        outputFormat: 'opus_48000_128',
      },
    ],
  },
  {
    model: 'music',
    input: { prompt: 'a waltz' },
    theirs: ['music', { prompt: 'a waltz', musicLengthMs: 30_000, modelId: 'music_v2', outputFormat: 'mp3_44100_128' }],
  },
  {
    model: 'sound-effects',
    input: { prompt: 'rain', duration: 2.5, loop: true, prompt_influence: 0.5, format: 'mp3' },
    theirs: [
      'effect',
      {
        text: 'rain',
        durationSeconds: 2.5,
        loop: true,
        promptInfluence: 0.5,
        modelId: 'eleven_text_to_sound_v2',
        outputFormat: 'mp3_44100_128',
      },
    ],
  },
  {
    model: 'sound-effects',
    input: { prompt: 'rain' },
    theirs: ['effect', { text: 'rain', modelId: 'eleven_text_to_sound_v2', outputFormat: 'mp3_44100_128' }],
  },
];

describe('the mapping of ElevenLabs', () => {
  const session = useClient('elevenlabs');

  for (const { model, input, theirs } of CASES) {
    const fields = Object.keys(input).join(', ');
    it(`asks ${model} with ${fields} as the official client does, and takes the same file`, async () => {
      session.answer({ file: { mimeType: 'audio/mpeg', bytes: Buffer.from('sound') } });
      const { provider, requestFor, host } = mapped(`elevenlabs/${model}`, session.origin);
      const submission = await provider.submit(requestFor(input), submitCall());
      const { value } = await session.call(...theirs);
      const [one, other] = session.requests();
      assertSameRequest(one, other, { host, headers: ['xi-api-key'] });
      const [produced] = submission.kind === 'done' ? submission.files : [];
      assert.ok(produced?.from === 'file');
      assert.equal((await readFile(produced.path)).toString('base64'), value);
    });
  }

  const ask = (model: string, input: Readonly<Record<string, unknown>>) => {
    const { provider, requestFor } = mapped(`elevenlabs/${model}`, session.origin);
    return provider.submit(requestFor(input), submitCall());
  };

  it('fails where the file is empty', async () => {
    session.answer({ file: { mimeType: 'audio/mpeg', bytes: Buffer.alloc(0) } });
    assert.equal((await session.call('music', { prompt: 'a waltz' })).value, '');
    assert.deepEqual(await ended(ask('music', { prompt: 'a waltz' })), { failed: 'no_output' });
  });

  itRejects(
    session,
    {
      ours: () => ask('eleven-v3', { text: 'Hello', voice: VOICE }),
      theirs: () => session.call('speech', VOICE, { text: 'Hello', modelId: 'eleven_v3' }),
    },
    REJECTIONS,
  );

  it('reads the newer form of an error too', async () => {
    const detail = { type: 'invalid_request', code: 'bad_prompt', message: 'Copyrighted.', param: 'prompt' };
    session.answer({ status: 400, json: { detail } });
    const end = await ended(ask('music', { prompt: 'a waltz' }));
    assert.ok('rejected' in end);
    assert.equal(end.rejected, 'content_rejected');
  });
});

/**
 * Piper, whose requests and answers are those of the server in its package, `piper.http_server` of `piper-tts` 1.8.0.
 * It is run in test/wide/piper.test.ts.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import type { Answers } from '../providers/http/recorder.ts';
import { reasonOf, submitted } from './answers.ts';
import { comparable, mapped } from './oracle.ts';

const SPEECH = { model: 'piper/speech', input: { text: 'High water.', voice: 'en_US-joe-medium' } };
const VOICES = {
  'en_US-joe-medium': { num_speakers: 1, audio: { sample_rate: 22_050 }, speaker_id_map: {} },
  'en_GB-vctk-medium': { num_speakers: 2, audio: { sample_rate: 22_050 }, speaker_id_map: { p239: 0, p236: 1 } },
};
const WAV = Buffer.concat([Buffer.from('RIFF'), Buffer.from([0x24, 0, 0, 0]), Buffer.from('WAVEfmt ')]);

/** As its server: sound without a type of its own. */
const speaking: Answers = ({ method }, response) => {
  if (method === 'GET') return VOICES;
  response.setHeader('content-type', 'text/html; charset=utf-8').end(WAV);
  return undefined;
};

describe('the mapping of Piper', () => {
  it('asks for the voices, and sends the text for one of them', async () => {
    await withRecorder(speaking, async ({ origin, requests }) => {
      await withScratch(async ({ call }) => {
        const { provider, requestFor } = mapped(SPEECH.model, origin);
        const input = { ...SPEECH.input, voice: 'en_GB-vctk-medium', speaker: 'p236', speed: 1.25 };

        const submission = await provider.submit(requestFor(input), call);

        assert.ok(submission.kind === 'done' && submission.files[0]?.from === 'file');
        assert.deepEqual(await readFile(submission.files[0].path), WAV);
        const [asked, sent] = requests.map((request) => comparable(request));
        assert.deepEqual([asked?.method, asked?.path], ['GET', '/voices']);
        assert.deepEqual([sent?.method, sent?.path], ['POST', '/synthesize']);
        assert.equal(sent?.headers['content-type'], 'application/json');
        assert.deepEqual(sent?.body, {
          text: 'High water.',
          voice: 'en_GB-vctk-medium',
          speaker: 'p236',
          length_scale: 0.8,
        });
      });
    });
  });

  it('rejects a voice or a speaker that the server does not have', async () => {
    for (const input of [
      { voice: 'en_US-other-low' },
      { speaker: 'p1' },
      { voice: 'en_GB-vctk-medium', speaker: 'p1' },
    ]) {
      const asked = { ...SPEECH, input: { ...SPEECH.input, ...input } };
      assert.equal(reasonOf(await submitted(asked, { json: VOICES })), 'input_invalid');
    }
  });

  it('does not accept a text without anything to speak, at which the server fails', () => {
    const { requestFor } = mapped(SPEECH.model, 'http://127.0.0.1:1');
    for (const text of ['', '???', '  ']) assert.throws(() => requestFor({ ...SPEECH.input, text }));
    assert.doesNotThrow(() => requestFor({ ...SPEECH.input, text: '7?' }));
  });

  it('takes errors of the server for what they are', async () => {
    const failing = (on: 'GET' | 'POST', status: number) =>
      submitted(SPEECH, ({ method }) => (method === on ? { status, json: {} } : { json: VOICES }));

    assert.equal(reasonOf(await failing('GET', 500)), 'provider_unavailable');
    assert.equal(reasonOf(await failing('GET', 404)), 'model_unavailable');
    await assert.rejects(failing('POST', 500), { name: 'ProviderUnknown', status: 500 });
    assert.equal(reasonOf(await failing('POST', 503)), 'provider_unavailable');
  });
});

/**
 * Neural speech by Piper's own server, which Whisper transcribes back, behind a whole service that has only been given
 * the URLs of both. Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { decodeAudio } from '@darkroom/media/decode';
import type { DecodedAudio } from '@darkroom/media/decode';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { startPiper, whyNoPiper } from './piper-server.ts';
import type { PiperServer } from './piper-server.ts';
import { startWhisperServer, whyNoWhisper } from './whisper-server.ts';
import type { WhisperServer } from './whisper-server.ts';

/** 15 words, which people speak in about five seconds. */
const SENTENCE = 'The keeper of the lighthouse wrote the weather down at six every morning, without fail.';
const SENTENCES = ['The keeper of the lighthouse wrote down the weather every morning.', 'He never missed a day.'];
const PRICE_PER_CHARACTER_USD = 0.000002;
const PRICE_PER_SECOND_USD = 0.000_01;
const SAMPLE_RATE = 48_000;

describe("speech by Piper's server", { skip: whyNoPiper() || whyNoWhisper(), timeout: 900_000 }, () => {
  let directory: string;
  let piper: PiperServer;
  let whisper: WhisperServer;
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-piper-'));
    piper = await startPiper();
    whisper = await startWhisperServer();
    darkroom = await startDarkroom({
      environment: { UPSTREAM_PIPER_URL: piper.url, UPSTREAM_OPENAI_COMPATIBLE_URL: whisper.url },
    });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    await whisper?.stop();
    await piper?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const run = async (model: string, input: object): Promise<ApiTask> => {
    const created = await account.client.create({ model, input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return account.client.waitForTerminal(created.body.data.taskId);
  };
  const speak = (input: object): Promise<ApiTask> =>
    run('piper/speech', { text: SENTENCE, voice: piper.voice, ...input });
  const soundOf = async (task: ApiTask): Promise<DecodedAudio> => {
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output, ...others] = task.output ?? [];
    assert.ok(output !== undefined && others.length === 0);
    assert.equal(output.mimeType, 'audio/wav');
    const file = path.join(directory, task.taskId);
    await writeFile(file, Buffer.from(await (await fetch(output.url)).arrayBuffer()));
    return decodeAudio(file, { sampleRate: SAMPLE_RATE, maxSeconds: 60 });
  };

  it('speaks a sentence, for as long as it takes, at the price of its characters', async () => {
    const task = await speak({});

    const { seconds, channels } = await soundOf(task);
    assert.ok(seconds > 3 && seconds < 8, `${seconds} s`);
    const loud = loudParts(channels[0]);
    // Mostly speech, with pauses between the words.
    assert.ok(loud > 0.4 && loud < 0.98, `${loud} of it is loud`);
    assert.equal(task.billing.captured, dollars(SENTENCE.length * PRICE_PER_CHARACTER_USD));
  });

  it('speaks faster if it is asked to', async () => {
    const [slow, fast] = [await soundOf(await speak({ speed: 0.5 })), await soundOf(await speak({ speed: 2 }))];

    const ratio = slow.seconds / fast.seconds;
    assert.ok(ratio > 2 && ratio < 5, `${slow.seconds} s and ${fast.seconds} s`);
  });

  it('fails if the server does not have the voice or the speaker, and charges nothing', async () => {
    for (const input of [{ voice: 'en_US-amy-medium' }, { speaker: 'p236' }]) {
      const task = await speak(input);

      assert.deepEqual(
        [task.status, task.error?.code, task.error?.reason],
        ['fail', 'INVALID_REQUEST', 'input_invalid'],
      );
      assert.equal(task.billing.captured, '0');
    }
  });

  it('does not accept a voice that is no name, or a text without a word', async () => {
    for (const [field, value] of [
      ['voice', '../../etc/passwd'],
      ['text', '...'],
    ] as const) {
      const input = { text: SENTENCE, voice: piper.voice, [field]: value };
      const { status, body } = await account.client.create({ model: 'piper/speech', input });

      assert.equal(status, 400);
      assert.match(body.message, new RegExp(field));
    }
  });

  describe('when Whisper transcribes it', () => {
    let spoken: string;
    before(async () => {
      const { output } = await speak({ text: SENTENCES.join(' ') });
      spoken = output?.[0]?.url ?? assert.fail('nothing was spoken');
    });

    const transcribe = (input: object = {}): Promise<ApiTask> =>
      run('openai_compatible/transcription', { audio_url: spoken, ...input });
    const textOf = async (task: ApiTask, mimeType: string): Promise<string> => {
      assert.equal(task.status, 'success', JSON.stringify(task));
      const output = task.output?.find((each) => each.mimeType === mimeType) ?? assert.fail(mimeType);
      return (await fetch(output.url)).text();
    };

    it('gives the sentences, in every format, at the price of its length', async () => {
      const task = await transcribe({ language: 'en' });

      const text = await textOf(task, 'text/plain');
      assert.equal(wordsOf(text), wordsOf(SENTENCES.join(' ')));
      const json = JSON.parse(await textOf(task, 'application/json')) as Transcript;
      assert.equal(json.text, text.trim());
      assert.equal(json.language, 'en');
      assert.ok(json.segments.length >= 1);
      for (const { start, end } of json.segments) assert.ok(start >= 0 && start < end && end <= json.duration + 1);
      for (const subtitles of ['application/x-subrip', 'text/vtt']) {
        const said = (await textOf(task, subtitles)).split('\n').filter((line) => /[a-z]/.test(line));
        assert.equal(wordsOf(said.join(' ')), wordsOf(text));
      }
      assert.equal(task.billing.captured, dollars(json.duration * PRICE_PER_SECOND_USD));
    });

    it('finds out by itself which language is spoken', async () => {
      const task = await transcribe({ formats: ['json'] });

      assert.equal((JSON.parse(await textOf(task, 'application/json')) as Transcript).language, 'en');
    });

    it('is translated into English, which it is already', async () => {
      const task = await transcribe({ translate: true, language: 'en', formats: ['text'] });

      assert.equal(wordsOf(await textOf(task, 'text/plain')), wordsOf(SENTENCES.join(' ')));
    });

    it('is not transcribed if it is longer than was held for', async () => {
      const task = await transcribe({ max_seconds: 2 });

      assert.deepEqual([task.error?.reason, task.error?.field], ['input_invalid', 'audio_url']);
      assert.equal(task.billing.captured, '0');
    });
  });
});

/** The share of hundredths of a second that are not silent. */
function loudParts(samples: Float32Array): number {
  const length = SAMPLE_RATE / 100;
  const parts = Array.from({ length: Math.floor(samples.length / length) }, (_, index) =>
    samples.subarray(index * length, (index + 1) * length),
  );
  const isLoud = (part: Float32Array): boolean => part.some((sample) => Math.abs(sample) > 0.02);
  return parts.filter(isLoud).length / parts.length;
}

interface Transcript {
  readonly text: string;
  readonly language: string;
  readonly duration: number;
  readonly segments: readonly { readonly start: number; readonly end: number }[];
}

/** Whatever the punctuation. */
function wordsOf(text: string): string {
  return (text.toLowerCase().match(/[a-z']+/g) ?? []).join(' ');
}

/** As the API writes amounts: rounded up to a micro. */
function dollars(amount: number): string {
  return (Math.ceil(Number((amount * 1e6).toFixed(6))) / 1e6).toFixed(6).replace(/\.?0+$/, '');
}

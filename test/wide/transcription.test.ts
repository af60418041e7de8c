/**
 * A sentence that Piper speaks is transcribed back by Whisper: two tasks of one service, the second of which hears the
 * output of the first. Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { startPiper, whyNoPiper } from './piper-server.ts';
import type { PiperServer } from './piper-server.ts';
import { startWhisperServer, whyNoWhisper } from './whisper-server.ts';
import type { WhisperServer } from './whisper-server.ts';

const SENTENCES = ['The keeper of the lighthouse wrote down the weather every morning.', 'He never missed a day.'];
const PRICE_PER_SECOND_USD = 0.000_01;

describe('speech that is transcribed', { skip: whyNoPiper() || whyNoWhisper(), timeout: 900_000 }, () => {
  let piper: PiperServer;
  let whisper: WhisperServer;
  let darkroom: Darkroom;
  let account: TestAccount;
  let spoken: string;
  before(async () => {
    piper = await startPiper();
    whisper = await startWhisperServer();
    darkroom = await startDarkroom({
      environment: { UPSTREAM_PIPER_URL: piper.url, UPSTREAM_OPENAI_COMPATIBLE_URL: whisper.url },
    });
    account = await darkroom.createAccount();
    const { output } = await run('piper/speech', { text: SENTENCES.join(' '), voice: piper.voice });
    spoken = output?.[0]?.url ?? assert.fail('nothing was spoken');
  });
  after(async () => {
    await darkroom?.stop();
    await whisper?.stop();
    await piper?.stop();
  });

  const run = async (model: string, input: object): Promise<ApiTask> => {
    const created = await account.client.create({ model, input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return account.client.waitForTerminal(created.body.data.taskId);
  };
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

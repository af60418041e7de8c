/**
 * Neural speech by Piper's own server, behind a whole service that has only been given its URL. Skipped, with the
 * reason, if there is no Python.
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

/** 15 words, which people speak in about five seconds. */
const SENTENCE = 'The keeper of the lighthouse wrote the weather down at six every morning, without fail.';
const PRICE_PER_CHARACTER_USD = 0.000002;
const SAMPLE_RATE = 48_000;

describe("speech by Piper's server", { skip: whyNoPiper(), timeout: 600_000 }, () => {
  let directory: string;
  let piper: PiperServer;
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-piper-'));
    piper = await startPiper();
    darkroom = await startDarkroom({ environment: { UPSTREAM_PIPER_URL: piper.url } });
    account = await darkroom.createAccount();
  });
  after(async () => {
    await darkroom?.stop();
    await piper?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const speak = async (input: object): Promise<ApiTask> => {
    const created = await account.client.create({
      model: 'piper/speech',
      input: { text: SENTENCE, voice: piper.voice, ...input },
    });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return account.client.waitForTerminal(created.body.data.taskId);
  };
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

/** As the API writes amounts. */
function dollars(amount: number): string {
  return amount.toFixed(6).replace(/0+$/, '');
}

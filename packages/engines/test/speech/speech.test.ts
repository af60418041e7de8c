/**
 * Promises of the engine `speech`, measured in the files that it writes: which pitch, how long, how loud, which band of
 * frequencies, which format.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { speak } from '../../src/speech/speaking.ts';
import { renderSpeech } from '../../src/speech/speech.ts';
import { VOICE_NAMES } from '../../src/speech/voices.ts';
import { decodeAudio } from '@darkroom/media/decode';
import { UnusableInputError } from '../../src/unusable-input-error.ts';
import { bandLevel, levelOf, medianPitch, powerAbove, readWav, scratchDirectory } from '../sound/measuring.ts';
import type { Wav } from '../sound/measuring.ts';

const LINE = 'We were away.';

async function spokenFile(
  input: Record<string, unknown>,
  progress: (fraction: number) => void = () => {},
): Promise<string> {
  const [file] = await renderSpeech({ input, seed: 1, media: new Map(), scratch: await scratchDirectory(), progress });
  assert.ok(file !== undefined && 'path' in file);
  return file.path;
}

async function spoken(input: Record<string, unknown>): Promise<Wav & { readonly samples: Float32Array }> {
  const wav = readWav(await readFile(await spokenFile({ format: 'wav', sample_rate: 16_000, ...input })));
  const [samples] = wav.channels;
  assert.ok(samples !== undefined);
  return { ...wav, samples };
}

describe('the engine speech', () => {
  it('doubles the pitch at 12 semitones and halves it at -12, and keeps the length', async () => {
    // One voice whose model is tuned, and one whose samples are shifted.
    for (const voice of ['slt', 'rms']) {
      const [low, usual, high] = await Promise.all([-12, 0, 12].map((pitch) => spoken({ text: LINE, voice, pitch })));
      assert.ok(low !== undefined && usual !== undefined && high !== undefined);

      const hertz = medianPitch(usual.samples, 16_000, 60, 320);
      const up = medianPitch(high.samples, 16_000, 110, 640) / hertz;
      const down = medianPitch(low.samples, 16_000, 40, 160) / hertz;

      assert.ok(Math.abs(up - 2) < 0.12, `${voice}: ${up} times the pitch at 12`);
      assert.ok(Math.abs(down - 0.5) < 0.06, `${voice}: ${down} times the pitch at -12`);
      for (const shifted of [low, high]) {
        assert.ok(Math.abs(shifted.samples.length / usual.samples.length - 1) < 0.02, `${voice}: another length`);
      }
    }
  });

  it('speaks with four voices of their own pitch, one of them a woman, and each of them higher by a fifth at 7', () => {
    const pitches = VOICE_NAMES.map((voice) => {
      const hertz = medianPitch(speak(LINE, voice).samples, 16_000, 60, 320);
      const fifth = medianPitch(speak(LINE, voice, { pitch: 7 }).samples, 16_000, 90, 480) / hertz;
      assert.ok(Math.abs(fifth - 1.498) < 0.09, `${voice}: ${fifth} times the pitch at 7`);
      return hertz;
    });

    assert.equal(pitches.length, 4);
    assert.equal(pitches.filter((hertz) => hertz > 145).length, 1, `${pitches.join(', ')} Hz`);
    assert.ok(pitches.every((hertz) => hertz > 70));
  });

  it('speaks twice as fast at speed 2 and half as fast at 0.5, at the same pitch', async () => {
    const [slow, usual, fast] = await Promise.all(
      [0.5, 1, 2].map((speed) => spoken({ text: LINE, voice: 'slt', speed })),
    );
    assert.ok(slow !== undefined && usual !== undefined && fast !== undefined);
    // Without the silence at both ends, which does not follow the speed.
    const seconds = (wav: Wav): number => (wav.channels[0]?.length ?? 0) / wav.sampleRate - 0.3;

    assert.ok(Math.abs(seconds(slow) / seconds(usual) - 2) < 0.15, `${seconds(slow)} s, ${seconds(usual)} s`);
    assert.ok(Math.abs(seconds(fast) / seconds(usual) - 0.5) < 0.08, `${seconds(fast)} s, ${seconds(usual)} s`);
    const [first, second] = [usual, fast].map(({ samples }) => medianPitch(samples, 16_000, 90, 320));
    assert.ok(Math.abs((first ?? 0) / (second ?? 1) - 1) < 0.1);
  });

  it('writes files of the requested rate, without aliasing', async () => {
    const input = { text: 'She sells.', voice: 'rms' };
    const native = await spoken({ ...input, sample_rate: 16_000 });
    for (const sampleRate of [8000, 22_050, 48_000]) {
      const resampled = await spoken({ ...input, sample_rate: sampleRate });

      assert.equal(resampled.sampleRate, sampleRate);
      const seconds = (wav: { samples: Float32Array; sampleRate: number }): number =>
        wav.samples.length / wav.sampleRate;
      assert.ok(Math.abs(seconds(resampled) - seconds(native)) < 0.001);
      if (sampleRate > 16_000) assert.ok(powerAbove(resampled.samples, sampleRate, 8300) < -45);
      // The hissing of "she sells" is above 4 kHz. With aliasing it would be heard between 2.5 and 3.7 kHz.
      const band = (wav: { samples: Float32Array; sampleRate: number }): number =>
        bandLevel(wav.samples, wav.sampleRate, 2500, 3700);
      assert.ok(
        Math.abs(band(resampled) - band(native)) < 0.5,
        `${sampleRate} Hz: ${band(resampled)}, ${band(native)}`,
      );
    }
  });

  it('writes mp3, wav, flac, opus and aac, and limits opus to the band of the requested rate', async () => {
    const magic = {
      mp3: /^(?:ID3|\xff[\xf2-\xfb])/,
      wav: /^RIFF....WAVE/s,
      flac: /^fLaC/,
      opus: /^OggS[^]{24}OpusHead/,
      aac: /^\xff[\xf1\xf9]/,
    };
    for (const [format, beginning] of Object.entries(magic)) {
      const path = await spokenFile({ text: 'She sells.', voice: 'slt', format, sample_rate: 8000 });

      assert.match((await readFile(path)).toString('latin1', 0, 40), beginning, format);
      const { channels, seconds } = await decodeAudio(path, { sampleRate: 48_000, maxSeconds: 10 });
      assert.ok(seconds > 0.6 && seconds < 2.5, `${format}: ${seconds} s`);
      assert.ok(powerAbove(channels[0], 48_000, 4300) < -35, `${format}: sound above 4 kHz`);
    }
  });

  it('is 6 dB softer at volume 0.5, and louder at 2 without clipping', async () => {
    const [soft, usual, loud] = await Promise.all(
      [0.5, 1, 2].map((volume) => spoken({ text: LINE, voice: 'awb', volume })),
    );
    assert.ok(soft !== undefined && usual !== undefined && loud !== undefined);

    assert.ok(Math.abs(levelOf(usual.samples) - levelOf(soft.samples) - 6.02) < 0.8);
    assert.ok(levelOf(loud.samples) - levelOf(usual.samples) > 2.5);
    assert.ok(loud.samples.every((sample) => Math.abs(sample) <= 0.9));
  });

  it('writes the same bytes for the same input', async () => {
    const input = { text: LINE, voice: 'kal', format: 'mp3', pitch: 3 };
    const [first, second] = await Promise.all([spokenFile(input), spokenFile(input)]);

    assert.deepEqual(await readFile(first), await readFile(second));
  });

  it('speaks many sentences with a pause between each two, and reports its progress', async () => {
    const reported: number[] = [];
    const text = 'One. Two! Three? Four.';
    const path = await spokenFile({ text, voice: 'kal', format: 'wav', sample_rate: 8000 }, (fraction) =>
      reported.push(fraction),
    );

    assert.deepEqual(
      reported,
      [...reported].sort((a, b) => a - b),
    );
    assert.equal(reported.length, 4);
    assert.equal(reported.at(-1), 1);
    const [samples] = readWav(await readFile(path)).channels;
    assert.ok(samples !== undefined);
    // Silent stretches of 0.3 s between words: three.
    let [quiet, pauses] = [0, 0];
    for (let from = 0; from + 400 <= samples.length; from += 400) {
      quiet = levelOf(samples, from, from + 400) < -60 ? quiet + 1 : 0;
      if (quiet === 6) pauses += 1;
    }
    assert.equal(pauses, 3);
  });

  it('rejects a text without anything that can be spoken, naming the field', async () => {
    for (const text of ['😀😀', '你好', '…!?']) {
      await assert.rejects(
        spokenFile({ text, voice: 'slt' }),
        (error) =>
          error instanceof UnusableInputError &&
          error.message.startsWith('text: ') &&
          isDeepStrictEqual(error.fault, { kind: 'unusable_text', field: 'text' }),
      );
    }
  });
});

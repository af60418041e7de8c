/**
 * Promises of the engine `sound`, measured in the samples that it makes: how long, how loud, how often an event
 * occurs, noise or tone, near or far, where it is and where it moves.
 */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { hashText } from '@darkroom/seeded-random/random';
import { ALL_THINGS } from '../../src/sound/lexicon.ts';
import { Piece } from '../../src/sound/piece.ts';
import { readingOf, renderSound } from '../../src/sound/sound.ts';
import { decodeAudio } from '@darkroom/media/decode';
import { centroidOf, flatnessOf, levelOf, levelsOf, onsetsOf, readWav, scratchDirectory, topsOf } from './measuring.ts';

const RATE = 48_000;

/** The samples of a prompt before they are levelled: left and right. */
function soundOf(prompt: string, seconds: number, seed = 1): readonly [Float32Array, Float32Array] {
  const piece = new Piece(readingOf(prompt), seconds * RATE, hashText(`${seed} ${prompt}`));
  const whole = [new Float32Array(seconds * RATE), new Float32Array(seconds * RATE)] as const;
  let at = 0;
  for (let block = piece.next(); block !== undefined; block = piece.next()) {
    whole[0].set(block[0], at);
    whole[1].set(block[1], at);
    at += block[0].length;
  }
  return whole;
}

async function soundFile(input: Record<string, unknown>, seed = 1): Promise<string> {
  const scratch = await scratchDirectory();
  const [file] = await renderSound({ input, seed, media: new Map(), scratch, progress: () => {} });
  assert.ok(file !== undefined && 'path' in file);
  assert.deepEqual(await readdir(scratch), [path.basename(file.path)], 'only the sound is left behind');
  return file.path;
}

async function leftOf(input: Record<string, unknown>): Promise<Float32Array> {
  const [left] = readWav(await readFile(await soundFile({ format: 'wav', ...input }))).channels;
  assert.ok(left !== undefined);
  return left;
}

describe('the files of the engine sound', () => {
  it('have the requested length, to the sample in wav and flac and to a codec frame in mp3, in 48 kHz stereo', async () => {
    for (const [format, off] of [
      ['wav', 0],
      ['flac', 0],
      ['mp3', 1152],
    ] as const) {
      const { channels } = await decodeAudio(await soundFile({ prompt: 'ui click', duration: 2, format }), {
        sampleRate: RATE,
        maxSeconds: 10,
      });
      assert.ok(Math.abs(channels[0].length - 2 * RATE) <= off, `${format}: ${channels[0].length} samples`);
    }
    const wav = readWav(await readFile(await soundFile({ prompt: 'wind', format: 'wav' })));
    assert.equal(wav.sampleRate, RATE);
    assert.deepEqual(
      wav.channels.map((channel) => channel.length),
      [5 * RATE, 5 * RATE],
    );
  });

  it('are the same bytes for the same prompt and seed, and others for another seed', async () => {
    const input = { prompt: 'birds and a stream', duration: 1, format: 'mp3' };
    const [first, second, other] = await Promise.all([soundFile(input, 5), soundFile(input, 5), soundFile(input, 6)]);

    assert.deepEqual(await readFile(first), await readFile(second));
    assert.notDeepEqual(await readFile(first), await readFile(other));
  });

  it('have about the same loudness, and never clip', async () => {
    for (const prompt of ['spaceship', 'a single gunshot', 'mosquito']) {
      const left = await leftOf({ prompt, duration: 2 });
      const highest = left.reduce((before, sample) => Math.max(before, Math.abs(sample)), 0);

      assert.ok(highest <= 0.9 && highest > 0.05, `${prompt}: ${highest}`);
      assert.ok(levelOf(left) > -36 && levelOf(left) < -10, `${prompt}: ${levelOf(left)} dB`);
    }
  });

  it('play backwards when the prompt says reversed', async () => {
    const [forwards, backwards] = await Promise.all([
      leftOf({ prompt: 'a single gunshot', duration: 2 }),
      leftOf({ prompt: 'a single gunshot reversed', duration: 2 }),
    ]);

    assert.ok(levelOf(forwards, 0, RATE) > levelOf(forwards, RATE) + 10);
    assert.ok(levelOf(backwards, RATE) > levelOf(backwards, 0, RATE) + 10);
  });
});

describe('the sounds', () => {
  it('exist for every named thing, and none is silent, invalid or out of range', () => {
    for (const thing of ALL_THINGS) {
      const name = thing.names[0] ?? '';
      const [left, right] = soundOf(name, 0.6);
      const highest = Math.max(...levelsOf(left, 4800), ...levelsOf(right, 4800));

      assert.ok(highest > -45 && highest < -3, `${name}: ${highest} dB`);
    }
  });

  it('are never silent between events', () => {
    for (const prompt of ['three knocks on a door', 'thunder', 'a coin drop then a gong']) {
      const lowest = Math.min(...levelsOf(soundOf(prompt, 6)[0], 12_000));
      assert.ok(lowest > -85, `${prompt}: ${lowest} dB`);
    }
  });

  it('occur as often as the prompt says', () => {
    assert.equal(onsetsOf(soundOf('three knocks on a wooden door', 4)[0], RATE, 0.12).length, 3);
    assert.equal(onsetsOf(soundOf('a door slams twice', 6)[0], RATE, 0.5).length, 2);
    assert.equal(onsetsOf(soundOf('a single gunshot', 6)[0], RATE, 0.4).length, 1);
    assert.equal(onsetsOf(soundOf('hand clap 5 times', 4)[0], RATE, 0.15).length, 5);
  });

  it('follow each other in the order of the prompt', () => {
    const [left] = soundOf('foghorn, then crickets', 6);
    const bright = (from: number, to: number): number => centroidOf(left.subarray(from * RATE, to * RATE), RATE);

    assert.ok(bright(0.5, 2) < 400, `${bright(0.5, 2)} Hz`);
    assert.ok(bright(4.5, 6) > 3000, `${bright(4.5, 6)} Hz`);
  });

  it('are noise for rain, and decaying inharmonic tones for a bell', () => {
    assert.ok(flatnessOf(soundOf('rain', 2)[0], RATE, 800, 7000) > 0.35);

    const [bell] = soundOf('church bell once', 6);
    assert.ok(flatnessOf(bell, RATE, 200, 4000) < 0.05);
    assert.ok(levelOf(bell, 0, RATE) > levelOf(bell, 5 * RATE) + 12, 'it dies away');
    const tops = topsOf(bell.subarray(Math.round(RATE / 4)), RATE, 12);
    // The minor third of bells above the prime, which no string has.
    const prime = tops.find((hertz) => Math.abs(hertz / 330 - 1) < 0.02);
    assert.ok(prime !== undefined, `${tops.join(', ')} Hz`);
    assert.ok(
      tops.some((hertz) => Math.abs(hertz / prime - 1.2) < 0.02),
      `${tops.join(', ')} Hz`,
    );
  });

  it('lose high frequencies far away, muffled or under water', () => {
    const near = centroidOf(soundOf('applause', 2)[0], RATE);
    for (const where of ['distant applause', 'applause behind a wall', 'applause underwater']) {
      assert.ok(centroidOf(soundOf(where, 2)[0], RATE) < near * 0.7, where);
    }
  });

  it('are deeper, higher, faster or slower as the prompt says', () => {
    const pitchOf = (prompt: string): number => centroidOf(soundOf(prompt, 2)[0], RATE);
    assert.ok(pitchOf('deep bell') < pitchOf('bell') && pitchOf('bell') < pitchOf('high pitched bell'));
    const steps = (prompt: string): number => onsetsOf(soundOf(prompt, 5)[0], RATE, 0.2).length;
    assert.ok(steps('slow footsteps') < steps('footsteps') && steps('footsteps') < steps('running footsteps'));
    const [wood, gravel] = ['footsteps on wood', 'footsteps on gravel'].map(pitchOf);
    assert.ok((wood ?? 0) * 2 < (gravel ?? 0), 'gravel is brighter than wood');
  });

  it('come from the direction that the prompt names, and pass from one side to the other', () => {
    const [left, right] = soundOf('crickets on the left', 2);
    assert.ok(levelOf(left) > levelOf(right) + 4);

    const [passingLeft, passingRight] = soundOf('ambulance passing by', 6);
    const lean = (from: number, to: number): number =>
      levelOf(passingLeft, from * RATE, to * RATE) - levelOf(passingRight, from * RATE, to * RATE);
    assert.ok(Math.sign(lean(1, 2)) !== Math.sign(lean(4, 5)), 'it changes sides');
    assert.ok(
      levelOf(passingLeft, 2.5 * RATE, 3.5 * RATE) > levelOf(passingLeft, 0, RATE) + 6,
      'it is loudest when near',
    );
  });

  it('reverberate in a church and not in a room', () => {
    const tail = (prompt: string): number => {
      const [left] = soundOf(prompt, 3);
      return levelOf(left, RATE, 1.5 * RATE) - levelOf(left, 0, RATE / 2);
    };
    assert.ok(tail('a single hand clap in a church') > tail('a single hand clap in a room') + 15);
  });

  it('never loop', () => {
    const [left] = soundOf('rain', 12);
    // The envelope in steps of 2 ms, compared with itself later: a loop would match completely at its length.
    const levels = levelsOf(left, 96).slice(500, -500);
    const mean = levels.reduce((sum, level) => sum + level, 0) / levels.length;
    const around = levels.map((level) => level - mean);
    const energy = around.reduce((sum, level) => sum + level * level, 0) / around.length;
    for (let lag = 250; lag < around.length / 2; lag++) {
      let product = 0;
      for (let index = 0; index + lag < around.length; index++)
        product += (around[index] ?? 0) * (around[index + lag] ?? 0);
      assert.ok(product / (around.length - lag) / energy < 0.5, `alike after ${lag * 2} ms`);
    }
  });

  it('exist for prompts without known words, a different one for each', () => {
    const [first, second] = ['zxq blorf', 'quantum broccoli'].map((prompt) => soundOf(prompt, 2)[0]);

    for (const sound of [first, second]) assert.ok(sound !== undefined && levelOf(sound) > -45);
    assert.notDeepEqual(first, second);
  });
});

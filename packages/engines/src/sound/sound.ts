/**
 * The engine `sound`: a sound effect from the things that a prompt names, 1 to 300 seconds, 48 kHz stereo. It is
 * rendered block by block into a file of raw samples, so that a long one takes no more memory than a short one,
 * measured at the same time, and then encoded at an even loudness; a reversed one is read from its end.
 *
 * Input: `prompt`; `duration` in seconds (5); `format` mp3, wav or flac (mp3). The same prompt, seed and duration give
 * the same samples.
 */
import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { writeAudio } from '@darkroom/media/encode';
import type { EngineWork, RenderedFile } from '../engine.ts';
import { hashText } from '@darkroom/seeded-random/random';
import { LEXICON } from './lexicon.ts';
import { BLOCK_SAMPLES, Piece } from './piece.ts';
import { readSoundPrompt } from './prompt-reading.ts';
import type { SoundReading } from './prompt-reading.ts';
import { Limiter } from './signal/limiter.ts';
import { LoudnessMeter } from './signal/loudness.ts';
import { SAMPLE_RATE } from './signal/shapes.ts';
import { texture } from './texture.ts';

const FORMATS = ['mp3', 'wav', 'flac', 'opus'] as const;
const DEFAULT_SECONDS = 5;
const LONGEST_SECONDS = 300;
const CHANNELS = 2;
const BYTES_A_BLOCK = BLOCK_SAMPLES * CHANNELS * Float32Array.BYTES_PER_ELEMENT;

/** The loudness of a sound if the prompt does not mention it: the same as for speech and music. */
const SOUND_LUFS = -18;
/** How far peaks may exceed full scale before the limiter: more limiting than this is audible. */
const MOST_LIMITED = 1.5;
const MOST_GAIN = 30;
const EDGE_SECONDS = 0.012;

/** The whole rendering, as raw samples in a file: blocks of left and then right. */
interface Spool {
  readonly file: FileHandle;
  readonly samples: number;
  readonly gain: number;
}

async function renderTo(
  file: FileHandle,
  piece: Piece,
  samples: number,
  progress: (part: number) => void,
): Promise<Spool> {
  const meter = new LoudnessMeter(SAMPLE_RATE, CHANNELS);
  let at = 0;
  for (let block = piece.next(); block !== undefined; block = piece.next()) {
    meter.add(block);
    for (const plane of block) await file.write(Buffer.from(plane.buffer, plane.byteOffset, plane.byteLength));
    at += block[0].length;
    progress(at / samples);
  }
  const toLoudness = 10 ** ((SOUND_LUFS - meter.integrated()) / 20);
  return { file, samples, gain: Math.min(toLoudness, MOST_LIMITED / Math.max(meter.peak, 1e-6), MOST_GAIN) };
}

async function readBlock({ file, samples }: Spool, block: number): Promise<[Float32Array, Float32Array]> {
  const length = Math.min(BLOCK_SAMPLES, samples - block * BLOCK_SAMPLES);
  const bytes = Buffer.alloc(length * CHANNELS * Float32Array.BYTES_PER_ELEMENT);
  await file.read(bytes, 0, bytes.length, block * BYTES_A_BLOCK);
  const both = new Float32Array(bytes.buffer, bytes.byteOffset, length * CHANNELS);
  return [both.slice(0, length), both.slice(length)];
}

/** The spooled sound, levelled, limited, with soft edges, and reversed if requested. */
async function* levelled(spool: Spool, isReversed: boolean): AsyncGenerator<Float32Array[]> {
  const { samples, gain } = spool;
  const blocks = Math.ceil(samples / BLOCK_SAMPLES);
  const limiter = new Limiter(SAMPLE_RATE, CHANNELS);
  const edge = Math.min(Math.round(EDGE_SECONDS * SAMPLE_RATE), samples >> 2);
  let [at, toSkip] = [0, limiter.delay];
  for (let index = 0; index < blocks; index++) {
    const planes = await readBlock(spool, isReversed ? blocks - 1 - index : index);
    const { length } = planes[0];
    for (const plane of planes) {
      if (isReversed) plane.reverse();
      for (let position = 0; position < length; position++) {
        const fade = Math.min(1, (at + position) / edge, (samples - 1 - at - position) / edge);
        plane[position] = (plane[position] ?? 0) * gain * fade;
      }
    }
    at += length;
    limiter.process(planes);
    yield planes.map((plane) => plane.subarray(Math.min(toSkip, length)));
    toSkip = Math.max(0, toSkip - length);
  }
  // The remaining samples in the limiter, which it held to look ahead.
  const rest = [new Float32Array(limiter.delay), new Float32Array(limiter.delay)];
  limiter.process(rest);
  yield rest;
}

/** The sounds that a prompt requests; if it names nothing that is known, a texture derived from its letters. */
export function readingOf(prompt: string): SoundReading {
  const reading = readSoundPrompt(prompt, LEXICON);
  return reading.acts.length > 0 ? reading : { ...reading, acts: [texture(prompt)] };
}

/** Renders a sound effect. */
export async function renderSound(work: EngineWork): Promise<readonly RenderedFile[]> {
  const { input, seed, scratch } = work;
  const prompt = typeof input['prompt'] === 'string' ? input['prompt'] : '';
  const requested = typeof input['duration'] === 'number' ? input['duration'] : DEFAULT_SECONDS;
  const format = FORMATS.find((known) => known === input['format']) ?? 'mp3';
  const samples = Math.round(Math.min(Math.max(requested, 1), LONGEST_SECONDS) * SAMPLE_RATE);
  const reading = readingOf(prompt);
  const target = path.join(scratch, `sound.${format}`);
  const samplesPath = path.join(scratch, 'samples.raw');
  const file = await open(samplesPath, 'w+');
  try {
    const piece = new Piece(reading, samples, hashText(`${seed} ${prompt}`));
    const spool = await renderTo(file, piece, samples, (part) => work.progress(part * 0.9));
    await writeAudio({
      path: target,
      format,
      inputRate: SAMPLE_RATE,
      sampleRate: SAMPLE_RATE,
      channels: CHANNELS,
      samples: levelled(spool, reading.effects.isReversed),
    });
  } finally {
    await file.close();
    await rm(samplesPath, { force: true });
  }
  work.progress(1);
  return [{ path: target }];
}

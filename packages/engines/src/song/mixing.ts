/**
 * From the players to the finished track, through files of samples in the scratch directory, so that five minutes take
 * no more memory than one: the band is played and measured, the singer's track is laid over it at the right level, and
 * the mix is mastered while it is encoded.
 */
import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { Limiter } from '../sound/signal/limiter.ts';
import { LoudnessMeter } from '../sound/signal/loudness.ts';
import { SAMPLE_RATE } from './band.ts';
import { CEILING, createMixBus, fadeAt, loudnessGain } from './mastering.ts';
import type { MixBus, Stereo } from './mastering.ts';

/** A third of a second: 130 kB of stereo, and often enough to report the progress. */
export const BLOCK_SAMPLES = 16_384;
const BYTES_PER_FRAME = 8;
/** The end of the ring, at most a tenth of a short piece. */
const FADE_SECONDS = 1.6;
/** How much louder the singer is than the band, in LU, and how much the voice lowers the band, as a factor. */
const [VOICE_OVER_BAND, MAKES_ROOM] = [1, 0.8];
/** How fast the band is lowered and raised again, in seconds. */
const [YIELDS_SECONDS, RETURNS_SECONDS] = [0.05, 0.35];
/** The power of a voice at which the band is lowered fully. */
const FULL_VOICE = 0.05 ** 2;
/** The share of all work that is done after playing, after singing and after mixing. */
const [PLAYED_SHARE, SUNG_SHARE, MIXED_SHARE] = [0.6, 0.8, 0.85];

/** A track in a file: left and right in turn, 32-bit floats. */
export interface TrackFile {
  readonly file: string;
  /** LUFS. */
  readonly loudness: number;
  /** The highest sample. */
  readonly peak: number;
}

function interleave([left, right]: Stereo): Uint8Array {
  const frames = new Float32Array(left.length * 2);
  for (let index = 0; index < left.length; index++) {
    frames[index * 2] = left[index] ?? 0;
    frames[index * 2 + 1] = right[index] ?? 0;
  }
  return new Uint8Array(frames.buffer);
}

/** Writes a track, through a bus if given, and measures it. */
async function record(
  blocks: AsyncIterable<Stereo> | Iterable<Stereo>,
  file: string,
  bus: MixBus | undefined,
  progress: (samples: number) => void,
): Promise<TrackFile> {
  const meter = new LoudnessMeter(SAMPLE_RATE, 2);
  const handle = await open(file, 'w');
  let done = 0;
  try {
    for await (const block of blocks) {
      bus?.process(block);
      meter.add(block);
      await handle.writeFile(interleave(block));
      done += block[0].length;
      progress(done);
    }
  } finally {
    await handle.close();
  }
  return { file, loudness: meter.integrated(), peak: meter.peak };
}

async function readBlock(handle: FileHandle, start: number, length: number): Promise<Stereo> {
  const frames = new Float32Array(length * 2);
  await handle.read(new Uint8Array(frames.buffer), 0, length * BYTES_PER_FRAME, start * BYTES_PER_FRAME);
  const [left, right] = [new Float32Array(length), new Float32Array(length)];
  for (let index = 0; index < length; index++) {
    left[index] = frames[index * 2] ?? 0;
    right[index] = frames[index * 2 + 1] ?? 0;
  }
  return [left, right];
}

/** The band with the singer over it: the band is lowered during vocals. */
async function* laidOver(band: TrackFile, voice: TrackFile, total: number): AsyncGenerator<Stereo> {
  const gain = 10 ** ((band.loudness + VOICE_OVER_BAND - voice.loudness) / 20);
  const yields = 1 - Math.exp(-1 / (YIELDS_SECONDS * SAMPLE_RATE));
  const returns = 1 - Math.exp(-1 / (RETURNS_SECONDS * SAMPLE_RATE));
  const [ofBand, ofVoice] = [await open(band.file, 'r'), await open(voice.file, 'r')];
  let presence = 0;
  try {
    for (let start = 0; start < total; start += BLOCK_SAMPLES) {
      const length = Math.min(BLOCK_SAMPLES, total - start);
      const [left, right] = await readBlock(ofBand, start, length);
      const [sungLeft, sungRight] = await readBlock(ofVoice, start, length);
      for (let index = 0; index < length; index++) {
        const l = sungLeft[index] ?? 0;
        const r = sungRight[index] ?? 0;
        const heard = Math.min(1, (l * l + r * r) / FULL_VOICE);
        presence += (heard - presence) * (heard > presence ? yields : returns);
        const room = 1 - (1 - MAKES_ROOM) * Math.sqrt(presence);
        left[index] = (left[index] ?? 0) * room + l * gain;
        right[index] = (right[index] ?? 0) * room + r * gain;
      }
      yield [left, right];
    }
  } finally {
    await ofBand.close();
    await ofVoice.close();
  }
}

/**
 * Plays and mixes.
 *
 * @param work.scratch the directory for the files; only the mix remains there.
 * @param work.total samples.
 * @param work.progress is called with the share of all work, mastering included.
 */
export async function mixDown(work: {
  readonly band: AsyncIterable<Stereo>;
  readonly vocals: Iterable<Stereo> | undefined;
  readonly scratch: string;
  readonly total: number;
  readonly progress: (fraction: number) => void;
}): Promise<TrackFile> {
  const { band, vocals, scratch, total, progress } = work;
  const part = (from: number, to: number) => (done: number) => progress(from + ((to - from) * done) / total);
  const mixFile = path.join(scratch, 'mix.f32');
  const bus = createMixBus(SAMPLE_RATE);
  if (vocals === undefined) return await record(band, mixFile, bus, part(0, MIXED_SHARE));
  const played = await record(band, path.join(scratch, 'band.f32'), undefined, part(0, PLAYED_SHARE));
  const sung = await record(vocals, path.join(scratch, 'voice.f32'), undefined, part(PLAYED_SHARE, SUNG_SHARE));
  const mix = await record(laidOver(played, sung, total), mixFile, bus, part(SUNG_SHARE, MIXED_SHARE));
  await Promise.all([rm(played.file), rm(sung.file)]);
  return mix;
}

/** The mix at its loudness, limited and faded out: exactly as many samples as were mixed. */
export async function* mastered(
  mix: TrackFile,
  total: number,
  lufs: number,
  progress: (fraction: number) => void,
): AsyncGenerator<Stereo> {
  const limiter = new Limiter(SAMPLE_RATE, 2, CEILING);
  const gain = loudnessGain(mix.loudness, lufs, mix.peak);
  const fade = Math.round(Math.min(FADE_SECONDS * SAMPLE_RATE, total / 10));
  const handle = await open(mix.file, 'r');
  try {
    // The output of the limiter is delayed: its first samples are dropped, and silence pushes out its last ones.
    for (let start = 0; start < total + limiter.delay; start += BLOCK_SAMPLES) {
      const length = Math.min(BLOCK_SAMPLES, total + limiter.delay - start);
      const block = await readBlock(handle, start, length);
      for (const samples of block)
        for (let index = 0; index < length; index++) samples[index] = (samples[index] ?? 0) * gain;
      limiter.process(block);
      const first = start - limiter.delay;
      for (const samples of block) {
        for (let index = 0; index < length; index++)
          samples[index] = (samples[index] ?? 0) * fadeAt(first + index, total, fade);
      }
      const skip = Math.max(0, Math.min(length, -first));
      yield [block[0].subarray(skip), block[1].subarray(skip)];
      progress(MIXED_SHARE + (1 - MIXED_SHARE) * Math.min(1, (start + length) / total));
    }
  } finally {
    await handle.close();
  }
}

/**
 * The engine `song`: a prompt, and optional lyrics, become a piece of music of an exact length. Composed as a score,
 * played by a sound font, mixed and mastered in two passes over a file in the scratch directory, so that five minutes
 * take no more memory than one.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { inputFault } from '@darkroom/api/facts/input-fault';
import { writeAudio } from '@darkroom/media/encode';
import { UnusableInputError } from '../unusable-input-error.ts';
import type { Engine, EngineInput } from '../engine.ts';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import type { Random } from '@darkroom/seeded-random/random';
import { SAMPLE_RATE, playScore } from './band.ts';
import { composeInstrumental } from './composition.ts';
import { genreNamed } from './genres.ts';
import { readLyrics } from './lyrics.ts';
import type { Stereo } from './mastering.ts';
import { BLOCK_SAMPLES, mastered, mixDown } from './mixing.ts';
import { readPrompt } from './prompt-reading.ts';
import type { SongBrief } from './prompt-reading.ts';
import type { Score } from './score.ts';
import { composeSung } from './sung-composition.ts';
import { transposed } from './theory.ts';
import type { Key } from './theory.ts';
import { singTrack } from './vocal-track.ts';

const DEFAULT_SECONDS = 30;
const FORMATS = ['mp3', 'wav', 'flac'] as const;
/** The share of the progress that reading the lyrics takes. */
const READING_SHARE = 0.1;

/** A complete piece that is ready to be played. */
interface Piece {
  readonly score: Score;
  /** The singer's track, if there are vocals. */
  readonly vocals: (() => Iterable<Stereo>) | undefined;
}

/** @throws {UnusableInputError} no part of the lyrics can be sung. */
function compose(input: EngineInput, brief: SongBrief, random: Random, progress: (fraction: number) => void): Piece {
  const { lyrics, duration } = input;
  const seconds = typeof duration === 'number' ? duration : undefined;
  if (typeof lyrics !== 'string') {
    return { score: composeInstrumental(brief, seconds ?? DEFAULT_SECONDS, random), vocals: undefined };
  }
  const song = composeSung(brief, readLyrics(lyrics), seconds, random, progress);
  if (song === undefined) {
    throw new UnusableInputError(
      'lyrics: they contain nothing that can be sung',
      inputFault('unusable_text', 'lyrics'),
    );
  }
  const { score, lines, singer } = song;
  const track = {
    rate: SAMPLE_RATE,
    total: Math.round(score.seconds * SAMPLE_RATE),
    blockSamples: BLOCK_SAMPLES,
    wet: genreNamed(brief.genre).hall,
  };
  const keyOf = ({ section }: { section: { shift: number } }): Key => transposed(score.key, section.shift);
  return { score, vocals: () => singTrack(lines, singer, keyOf, track, random.fork('vocals')) };
}

/**
 * Renders one song.
 *
 * Input: `prompt`; `lyrics`, or none for a piece without words; `duration` in seconds, 1 to 300 (30; with lyrics as
 * long as they take); `format` mp3, wav or flac (mp3).
 *
 * @throws {UnusableInputError} no part of the lyrics can be sung.
 */
export const renderSong: Engine = async (work) => {
  const { input, seed, scratch } = work;
  const prompt = typeof input['prompt'] === 'string' ? input['prompt'] : '';
  const format = FORMATS.find((one) => one === input['format']) ?? 'mp3';
  const random = createRandom(hashText(`${seed}/${prompt}`));
  const brief = readPrompt(prompt, random.fork('prompt'));
  const reportPart = (done: number): void => {
    work.progress(done);
    work.pausePoint?.();
  };
  const { score, vocals } = compose(input, brief, random, (read) => reportPart(read * READING_SHARE));
  const total = Math.round(score.seconds * SAMPLE_RATE);
  const report = (done: number): void => reportPart(READING_SHARE + (1 - READING_SHARE) * done);
  const mix = await mixDown({
    band: playScore(score, BLOCK_SAMPLES),
    vocals: vocals?.(),
    scratch,
    total,
    progress: report,
  });
  const file = path.join(scratch, `song.${format}`);
  await writeAudio({
    path: file,
    format,
    inputRate: SAMPLE_RATE,
    sampleRate: SAMPLE_RATE,
    channels: 2,
    samples: mastered(mix, total, genreNamed(brief.genre).lufs, report),
  });
  await rm(mix.file);
  return [{ path: file }];
};

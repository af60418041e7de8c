/**
 * Converts words to samples with one of the voices, with the time of each sound, for speech and for songs. One call is
 * one utterance: a few seconds, spoken in one go.
 */
import { runFlite } from './flite-program.ts';
import { pitchShifted } from './pitch-shifting.ts';
import { speakableText } from './speakable-text.ts';
import { VOICE_SAMPLE_RATE, voiceOf } from './voices.ts';
import type { VoiceName } from './voices.ts';
import { alignedWords } from './word-timing.ts';
import type { SpokenWord } from './word-timing.ts';

/** One sound of speech, in the notation of the CMU dictionary in lower case (`hh`, `ax`, `ow`); `pau` is silence. */
export interface Phone {
  readonly name: string;
  /** In seconds from the beginning of the samples. */
  readonly start: number;
  readonly end: number;
}

/** What was spoken. */
export interface Utterance {
  /** One channel, -1 to 1. */
  readonly samples: Float32Array;
  readonly sampleRate: number;
  /** In order and without gaps, silence at both ends included. */
  readonly phones: readonly Phone[];
}

/** How something is spoken. */
export interface Manner {
  /** Semitones above the voice's own pitch, -12 to 12; 0 if absent. The length stays the same. */
  readonly pitch?: number;
  /** 0.5 to 2 times as fast; 1 if absent. The pitch stays the same. */
  readonly speed?: number;
}

const WAV_HEADER_BYTES = 44;

function samplesOf(wav: Buffer): Float32Array {
  const samples = new Float32Array(Math.max(0, (wav.length - WAV_HEADER_BYTES) >> 1));
  for (let index = 0; index < samples.length; index++) {
    samples[index] = wav.readInt16LE(WAV_HEADER_BYTES + index * 2) / 32_768;
  }
  return samples;
}

/** `pau:0.220 hh:0.295 …`: each sound with the time of its end. */
function phonesIn(printed: string): Phone[] {
  let start = 0;
  return [...printed.matchAll(/(\S+):(\d+\.\d+)/g)].map(([, name = '', endText]) => {
    const end = Number(endText);
    const phone = { name, start, end };
    start = end;
    return phone;
  });
}

/**
 * Speaks a short text in one go.
 *
 * @param text the output of `speakableText`, a few hundred characters at most.
 * @throws {FliteFailedError}
 */
export function speak(text: string, voiceName: VoiceName, manner: Manner = {}): Utterance {
  const { pitch = 0, speed = 1 } = manner;
  const { fliteName, tunable, lowestHertz, highestHertz } = voiceOf(voiceName);
  const options = ['-voice', fliteName, '-psdur', '--setf', `duration_stretch=${(1 / speed).toFixed(4)}`];
  if (tunable !== undefined) {
    const ratio = 2 ** (pitch / 12);
    options.push('--setf', `int_f0_target_mean=${(tunable.meanHertz * ratio).toFixed(3)}`);
    options.push('--setf', `int_f0_target_stddev=${(tunable.spreadHertz * ratio).toFixed(3)}`);
  }
  const { wav, printed } = runFlite([...options, '-t', text]);
  const samples = samplesOf(wav);
  const moved =
    tunable === undefined ? pitchShifted(samples, VOICE_SAMPLE_RATE, pitch, { lowestHertz, highestHertz }) : samples;
  return { samples: moved, sampleRate: VOICE_SAMPLE_RATE, phones: phonesIn(printed) };
}

/**
 * Speaks some words and returns the time of each, for example for a line of a song.
 *
 * @param text any text, a line at most; the parts that cannot be spoken are omitted. If no part can, there are no
 * samples.
 * @throws {FliteFailedError}
 */
export function speakWords(
  text: string,
  voiceName: VoiceName,
  manner: Manner = {},
): Utterance & { readonly words: readonly SpokenWord[] } {
  const spoken = speakableText(text).replace(/\s+/g, ' ');
  if (spoken === '') return { samples: new Float32Array(0), sampleRate: VOICE_SAMPLE_RATE, phones: [], words: [] };
  const utterance = speak(spoken, voiceName, manner);
  return { ...utterance, words: alignedWords(spoken, voiceOf(voiceName).fliteName, utterance.phones) };
}

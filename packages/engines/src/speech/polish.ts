/**
 * Polishes the output of Flite: cuts silence at the ends, removes rumble and offset, evens the voice's tone, brings
 * every passage to one level, without clicks and clipping.
 */
import { filtered, highPass, highShelf, lowShelf } from '../sound/signal/biquad.ts';
import { limited } from '../sound/signal/limiter.ts';
import { integratedLoudness } from '../sound/signal/loudness.ts';
import type { Utterance } from './speaking.ts';
import type { Voice } from './voices.ts';

/** The level of speech at volume 1: between broadcast (-23) and streaming services (-14). */
export const SPEECH_LUFS = -18;

/** Below the lowest pitch that a voice is shifted to. */
const RUMBLE_HERTZ = 42;
const LEAD_IN_SECONDS = 0.03;
const LEAD_OUT_SECONDS = 0.05;
const FADE_SECONDS = 0.008;
/** A passage of breath alone is not raised to the level of speech. */
const MOST_GAIN = 8;

function withoutSilence({ samples, sampleRate, phones }: Utterance): Float32Array {
  const spoken = phones.filter((phone) => phone.name !== 'pau');
  const [first, last] = [spoken[0], spoken.at(-1)];
  if (first === undefined || last === undefined) return new Float32Array(0);
  const start = Math.max(0, Math.round((first.start - LEAD_IN_SECONDS) * sampleRate));
  return samples.slice(start, Math.round((last.end + LEAD_OUT_SECONDS) * sampleRate));
}

function fade(samples: Float32Array, sampleRate: number): void {
  const length = Math.min(Math.round(FADE_SECONDS * sampleRate), samples.length >> 1);
  for (let index = 0; index < length; index++) {
    const gain = 0.5 - 0.5 * Math.cos((Math.PI * index) / length);
    const mirrored = samples.length - 1 - index;
    samples[index] = (samples[index] ?? 0) * gain;
    samples[mirrored] = (samples[mirrored] ?? 0) * gain;
  }
}

/**
 * Prepares an utterance for playback.
 *
 * @param volume 1 for `SPEECH_LUFS`, twice as high for 6 dB more; peaks that would clip are held at -1 dBFS.
 * @returns its samples without the silence at its ends.
 */
export function polished(utterance: Utterance, voice: Voice, volume: number): Float32Array {
  const { sampleRate } = utterance;
  const samples = withoutSilence(utterance);
  const tone = voice.tone.map(({ shelf, hertz, decibels }) =>
    (shelf === 'low' ? lowShelf : highShelf)(sampleRate, hertz, decibels),
  );
  filtered(samples, highPass(sampleRate, RUMBLE_HERTZ), ...tone);
  const gain = Math.min(10 ** ((SPEECH_LUFS - integratedLoudness([samples], sampleRate)) / 20), MOST_GAIN) * volume;
  for (let index = 0; index < samples.length; index++) samples[index] = (samples[index] ?? 0) * gain;
  const [even = samples] = limited([samples], sampleRate);
  fade(even, sampleRate);
  return even;
}

/**
 * Voices of animals and monsters: a buzzing source whose pitch moves, with roughness and breath, through the resonances
 * of a throat that opens and closes.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, filtered, highPass } from '../signal/biquad.ts';
import { wander } from '../signal/noise.ts';
import { SAMPLE_RATE, buzz, fadingOut, samplesIn } from '../signal/shapes.ts';
import type { Curve, Wave } from '../signal/shapes.ts';

/** One resonance of a throat. */
export interface Formant {
  /** Its frequency, in Hz, from the beginning (0) to the end (1) of the cry. */
  readonly hertz: Curve;
  readonly q: number;
  readonly level: number;
}

/** One cry. All curves run from 0, its beginning, to 1, its end. */
export interface Cry {
  readonly seconds: number;
  /** Of the source, in Hz. */
  readonly pitch: Curve;
  readonly level: Curve;
  readonly formants: readonly Formant[];
  /** How much of the source is breath: 0 to 1. */
  readonly breath?: number;
  /** How much the pitch trembles: 0 to 1. */
  readonly roughness?: number;
  /** A flutter of the level, in Hz, and its depth. */
  readonly flutter?: { readonly hertz: number; readonly depth: number };
  /** A swing of the pitch, in Hz, and its depth as a fraction of the pitch. */
  readonly vibrato?: { readonly hertz: number; readonly depth: number };
  readonly wave?: Wave;
}

const CONTROL_STEP = 48;

/** Makes a cry. */
export function cry(random: Random, what: Cry): Float32Array {
  const { seconds, pitch, level, formants, breath = 0.08, roughness = 0.1, flutter, vibrato, wave = buzz } = what;
  const source = new Float32Array(samplesIn(seconds));
  const tremble = wander(random.fork('tremble'), 70, SAMPLE_RATE);
  const slow = wander(random.fork('slow'), 6, SAMPLE_RATE);
  let phase = 0;
  for (let index = 0; index < source.length; index++) {
    const part = index / source.length;
    const at = index / SAMPLE_RATE;
    const swing = vibrato === undefined ? 0 : vibrato.depth * Math.sin(2 * Math.PI * vibrato.hertz * at);
    phase += (pitch(part) * (1 + swing + roughness * 0.16 * tremble() + 0.012 * slow())) / SAMPLE_RATE;
    phase -= Math.floor(phase);
    const shake =
      flutter === undefined ? 1 : 1 - flutter.depth * (0.5 + 0.5 * Math.sin(2 * Math.PI * flutter.hertz * at));
    const voiced = wave(phase) * (1 - breath);
    source[index] = (voiced + (random.next() * 2 - 1) * breath) * level(part) * shake;
  }
  const cryed = new Float32Array(source.length);
  for (const formant of formants) {
    const filter = new Biquad(bandPass(SAMPLE_RATE, formant.hertz(0), formant.q));
    for (let start = 0; start < source.length; start += CONTROL_STEP) {
      filter.retune(bandPass(SAMPLE_RATE, formant.hertz(start / source.length), formant.q));
      const end = Math.min(start + CONTROL_STEP, source.length);
      for (let index = start; index < end; index++) {
        cryed[index] = (cryed[index] ?? 0) + filter.step(source[index] ?? 0) * formant.level;
      }
    }
  }
  // A little of the source itself keeps the high frequencies that the resonances remove.
  for (let index = 0; index < cryed.length; index++) cryed[index] = (cryed[index] ?? 0) + (source[index] ?? 0) * 0.05;
  return fadingOut(filtered(cryed, highPass(SAMPLE_RATE, 40)));
}

/** A constant value. */
export function steady(value: number): Curve {
  return () => value;
}

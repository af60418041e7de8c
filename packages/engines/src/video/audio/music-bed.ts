/**
 * Soft music below a scene: slow chords and a few plucked notes over them, in a mode and register that suit its light.
 * Not a song: it has no beat and stays in the background.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { Reverb } from '../../sound/signal/reverb.ts';
import { SAMPLE_RATE } from '../../sound/signal/shapes.ts';

export type Mood = 'bright' | 'tender' | 'dark' | 'wide';

/** Chords as steps above the root, in semitones; the bass first. */
const PROGRESSIONS: Readonly<Record<Mood, readonly (readonly number[])[]>> = {
  bright: [
    [0, 7, 16, 19],
    [-3, 9, 16, 21],
    [5, 9, 17, 21],
    [-5, 7, 14, 23],
  ],
  tender: [
    [0, 7, 14, 16],
    [4, 11, 16, 19],
    [-3, 7, 12, 16],
    [5, 12, 16, 21],
  ],
  dark: [
    [0, 7, 15, 22],
    [-4, 8, 15, 19],
    [-7, 5, 15, 20],
    [-2, 10, 14, 17],
  ],
  wide: [
    [0, 7, 14, 21],
    [-2, 5, 14, 17],
    [-5, 7, 12, 19],
    [0, 7, 12, 26],
  ],
};
const ROOTS: Readonly<Record<Mood, number>> = { bright: 48, tender: 46, dark: 41, wide: 43 };
const CHORD_SECONDS = 4.8;
const ROOM = { decaySeconds: 4.2, damping: 0.45, size: 1.6, delaySeconds: 0.03 } as const;

function hertzOf(note: number): number {
  return 440 * 2 ** ((note - 69) / 12);
}

/** Adds the music to both channels. @param level approximate level of its loudest moments, 0 to 1. */
export function addMusic(
  planes: readonly [Float32Array, Float32Array],
  mood: Mood,
  level: number,
  random: Random,
): void {
  const length = planes[0].length;
  const dry: [Float32Array, Float32Array] = [new Float32Array(length), new Float32Array(length)];
  const send = new Float32Array(length);
  const root = ROOTS[mood] + random.integer(-2, 2);
  const chords = PROGRESSIONS[mood];
  const seconds = length / SAMPLE_RATE;
  for (let index = 0; index * CHORD_SECONDS < seconds; index++) {
    const chord = chords[index % chords.length] ?? [];
    const at = index * CHORD_SECONDS;
    for (const [voice, step] of chord.entries()) {
      addPad(dry, send, at, CHORD_SECONDS + 2.6, hertzOf(root + step), voice === 0 ? 0.11 : 0.06, random);
    }
    if (index === 0 && seconds > CHORD_SECONDS * 1.5) continue;
    // A few notes of the chord, an octave up, at uneven times.
    let pluck = at + random.between(0.2, 0.9);
    while (pluck < Math.min(at + CHORD_SECONDS, seconds - 1)) {
      const step = chord[random.integer(1, chord.length - 1)] ?? 0;
      addPluck(dry, send, pluck, hertzOf(root + step + 12), random.between(0.05, 0.1), random.between(-0.6, 0.6));
      pluck += random.pick([0.6, 1.2, 1.2, 1.8]);
    }
  }
  const wet: [Float32Array, Float32Array] = [new Float32Array(length), new Float32Array(length)];
  new Reverb(SAMPLE_RATE, ROOM).process(send, wet[0], wet[1]);
  for (const [channel, plane] of planes.entries()) {
    const [own, room] = channel === 0 ? [dry[0], wet[0]] : [dry[1], wet[1]];
    for (let index = 0; index < length; index++) {
      plane[index] = (plane[index] ?? 0) + ((own[index] ?? 0) + (room[index] ?? 0) * 0.5) * level;
    }
  }
}

/** A chord's voice: two sines a little out of tune, some overtones, with a very slow attack and release. */
function addPad(
  planes: readonly [Float32Array, Float32Array],
  send: Float32Array,
  at: number,
  seconds: number,
  hertz: number,
  level: number,
  random: Random,
): void {
  const start = Math.round(at * SAMPLE_RATE);
  const end = Math.min(send.length, start + Math.round(seconds * SAMPLE_RATE));
  const [a, b] = [(2 * Math.PI * hertz * 0.9985) / SAMPLE_RATE, (2 * Math.PI * hertz * 1.0015) / SAMPLE_RATE];
  const phase = random.between(0, 6);
  for (let index = start; index < end; index++) {
    const age = (index - start) / SAMPLE_RATE;
    const swell = Math.min(1, age / 1.9) * Math.min(1, Math.max(0, (seconds - age) / 2.4));
    const loud = level * swell * swell * (3 - 2 * swell);
    const [x, y] = [a * (index - start), b * (index - start) + phase];
    const first = Math.sin(x) + 0.28 * Math.sin(2 * x) + 0.1 * Math.sin(3 * x + 1);
    const second = Math.sin(y) + 0.28 * Math.sin(2 * y + 2) + 0.1 * Math.sin(3 * y);
    planes[0][index] = (planes[0][index] ?? 0) + (first * 0.7 + second * 0.3) * loud;
    planes[1][index] = (planes[1][index] ?? 0) + (first * 0.3 + second * 0.7) * loud;
    send[index] = (send[index] ?? 0) + (first + second) * loud * 0.4;
  }
}

/** A metal string: a quick attack, and overtones that decay before the tone. */
function addPluck(
  planes: readonly [Float32Array, Float32Array],
  send: Float32Array,
  at: number,
  hertz: number,
  level: number,
  side: number,
): void {
  const start = Math.round(at * SAMPLE_RATE);
  const end = Math.min(send.length, start + Math.round(2.6 * SAMPLE_RATE));
  const turn = (2 * Math.PI * hertz) / SAMPLE_RATE;
  for (let index = start; index < end; index++) {
    const age = (index - start) / SAMPLE_RATE;
    const attack = Math.min(1, age / 0.006);
    const x = turn * (index - start);
    const sample =
      attack *
      level *
      (Math.sin(x) * Math.exp(-age * 2.1) +
        0.35 * Math.sin(2 * x) * Math.exp(-age * 4.2) +
        0.14 * Math.sin(4.01 * x) * Math.exp(-age * 9));
    planes[0][index] = (planes[0][index] ?? 0) + sample * (0.5 - side * 0.4);
    planes[1][index] = (planes[1][index] ?? 0) + sample * (0.5 + side * 0.4);
    send[index] = (send[index] ?? 0) + sample * 0.75;
  }
}

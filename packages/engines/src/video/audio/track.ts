/**
 * The audio track of a video as a WAV file of its exact length: 48 kHz, stereo, 16 bit. Either the sound of its scenes,
 * made here, or the audio from the caller, cut or repeated to length.
 */
import { writeFile } from 'node:fs/promises';
import type { DecodedAudio } from '@darkroom/media/decode';
import type { Random } from '@darkroom/seeded-random/random';
import { ALL_THINGS } from '../../sound/lexicon.ts';
import { Part } from '../../sound/part.ts';
import { limited } from '../../sound/signal/limiter.ts';
import { LoudnessMeter } from '../../sound/signal/loudness.ts';
import { Reverb } from '../../sound/signal/reverb.ts';
import { SAMPLE_RATE } from '../../sound/signal/shapes.ts';
import { ROOMS } from '../../sound/thing.ts';
import type { Thing } from '../../sound/thing.ts';
import { addMusic } from './music-bed.ts';
import type { Mood } from './music-bed.ts';
import type { Event, Voice } from './voices.ts';

export type TrackPlan =
  | {
      readonly kind: 'scene';
      readonly seconds: number;
      readonly voices: readonly Voice[];
      readonly events: readonly Event[];
      readonly mood: Mood;
      readonly random: Random;
    }
  | { readonly kind: 'given'; readonly seconds: number; readonly audio: DecodedAudio };

type Planes = readonly [Float32Array, Float32Array];

const BLOCK = 16_384;
const FADE_SECONDS = 0.35;
/** Where the caller's audio begins again, it overlaps its end by this. */
const OVERLAP_SECONDS = 0.4;
/** The loudness of the whole track: a little below what streaming services require. */
const LOUDNESS_LUFS = -19;
const MUSIC_LEVEL = 0.5;

/** Renders a track: both channels. */
export function renderTrack(plan: TrackPlan): Planes {
  const samples = Math.round(plan.seconds * SAMPLE_RATE);
  const planes: Planes = [new Float32Array(samples), new Float32Array(samples)];
  if (plan.kind === 'given') repeat(plan.audio, planes);
  else {
    for (const [index, voice] of plan.voices.entries()) addVoice(planes, voice, plan.random.fork(`voice ${index}`));
    for (const [index, event] of plan.events.entries()) addEvent(planes, event, plan.random.fork(`event ${index}`));
    addMusic(planes, plan.mood, MUSIC_LEVEL, plan.random.fork('music'));
    level(planes);
  }
  fade(planes);
  const [left, right] = limited(planes, SAMPLE_RATE);
  return [left ?? planes[0], right ?? planes[1]];
}

/** Renders a track into a file. */
export async function writeTrack(path: string, plan: TrackPlan): Promise<void> {
  await writeFile(path, wavOf(renderTrack(plan)));
}

function thingOf(name: string): Thing | undefined {
  return ALL_THINGS.find((thing) => thing.names.includes(name));
}

function addVoice(planes: Planes, voice: Voice, random: Random): void {
  const thing = thingOf(voice.name);
  if (thing === undefined) return;
  const length = planes[0].length;
  const manner = { weight: voice.weight, pace: 1, pitch: 1, surface: undefined, course: undefined };
  const mention = { thing, manner, distance: voice.metres, side: undefined, count: undefined };
  const part = new Part(mention, random, 0, length, true);
  const room = new Reverb(SAMPLE_RATE, ROOMS[thing.room ?? 'outdoors']);
  for (let at = 0; at < length; at += BLOCK) {
    const size = Math.min(BLOCK, length - at);
    const [left, right, send] = [new Float32Array(size), new Float32Array(size), new Float32Array(size)];
    part.render(at, left, right, send);
    room.process(send, left, right);
    for (let index = 0; index < size; index++) {
      const gain = voice.gain((at + index) / length);
      planes[0][at + index] = (planes[0][at + index] ?? 0) + (left[index] ?? 0) * gain;
      planes[1][at + index] = (planes[1][at + index] ?? 0) + (right[index] ?? 0) * gain;
    }
  }
}

function addEvent(planes: Planes, event: Event, random: Random): void {
  const strike = thingOf(event.name)?.strike;
  if (strike === undefined) return;
  const take = strike(random, { weight: 1, pace: 1, pitch: 1, surface: undefined, course: undefined, seconds: 6 }, 0);
  const sides = take instanceof Float32Array ? ([take, take] as const) : take;
  const meter = new LoudnessMeter(SAMPLE_RATE, 2);
  meter.add(sides);
  const gain = (event.gain * 0.8) / Math.max(meter.peak, 1e-6);
  const start = Math.round(event.at * SAMPLE_RATE);
  for (const [channel, plane] of planes.entries()) {
    const side = sides[channel === 0 ? 0 : 1];
    const end = Math.min(side.length, plane.length - start);
    for (let index = Math.max(0, -start); index < end; index++) {
      plane[start + index] = (plane[start + index] ?? 0) + (side[index] ?? 0) * gain;
    }
  }
}

/** Brings the whole track to one loudness. */
function level(planes: Planes): void {
  const meter = new LoudnessMeter(SAMPLE_RATE, 2);
  meter.add(planes);
  const gain = 10 ** ((LOUDNESS_LUFS - Math.max(meter.integrated(), -60)) / 20);
  for (const plane of planes)
    for (let index = 0; index < plane.length; index++) plane[index] = (plane[index] ?? 0) * gain;
}

function fade(planes: Planes): void {
  const ramp = Math.min(FADE_SECONDS * SAMPLE_RATE, planes[0].length / 4);
  for (const plane of planes) {
    for (let index = 0; index < ramp; index++) {
      const gain = index / ramp;
      const last = plane.length - 1 - index;
      plane[index] = (plane[index] ?? 0) * gain;
      plane[last] = (plane[last] ?? 0) * gain;
    }
  }
}

/** Fills the planes with the caller's audio, repeated if it is shorter, each time faded into the next. */
function repeat({ channels }: DecodedAudio, planes: Planes): void {
  const [source] = channels;
  if (source.length === 0) return;
  const overlap = Math.min(Math.round(OVERLAP_SECONDS * SAMPLE_RATE), Math.floor(source.length / 4));
  const step = source.length - overlap;
  for (const [channel, plane] of planes.entries()) {
    const side = channels[channel === 0 ? 0 : 1];
    for (let start = 0; start < plane.length; start += step) {
      const end = Math.min(side.length, plane.length - start);
      const isLast = start + step >= plane.length;
      for (let index = 0; index < end; index++) {
        const rise = start > 0 ? Math.min(1, index / overlap) : 1;
        const fall = isLast ? 1 : Math.min(1, (side.length - index) / overlap);
        plane[start + index] = (plane[start + index] ?? 0) + (side[index] ?? 0) * Math.sqrt(rise * fall);
      }
    }
  }
}

/** A WAV file: the header of 44 bytes that all programs read, and 16 bits per sample. */
export function wavOf([left, right]: Planes): Buffer {
  const bytes = Buffer.alloc(44 + left.length * 4);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(2, 22);
  bytes.writeUInt32LE(SAMPLE_RATE, 24);
  bytes.writeUInt32LE(SAMPLE_RATE * 4, 28);
  bytes.writeUInt16LE(4, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36, 'latin1');
  bytes.writeUInt32LE(left.length * 4, 40);
  const samples = new Int16Array(bytes.buffer, bytes.byteOffset + 44, left.length * 2);
  for (let index = 0; index < left.length; index++) {
    samples[index * 2] = Math.round(Math.max(-1, Math.min(1, left[index] ?? 0)) * 32_767);
    samples[index * 2 + 1] = Math.round(Math.max(-1, Math.min(1, right[index] ?? 0)) * 32_767);
  }
  return bytes;
}

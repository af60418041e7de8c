/**
 * A whole sound: its acts one after the other in the requested time, the things of each at once, the reverb around
 * them, and the effects that the prompt applies to the whole. Rendered block by block.
 */
import { createRandom } from '@darkroom/seeded-random/random';
import type { Random } from '@darkroom/seeded-random/random';
import { WholeEffects } from './effects.ts';
import { Part } from './part.ts';
import type { Act, SoundReading } from './prompt-reading.ts';
import { Biquad, highPass } from './signal/biquad.ts';
import { pinkNoise } from './signal/noise.ts';
import { Reverb } from './signal/reverb.ts';
import { SAMPLE_RATE } from './signal/shapes.ts';
import { ROOMS } from './thing.ts';
import type { RoomName } from './thing.ts';

/** A third of a second: small in memory, and progress is reported between blocks. */
export const BLOCK_SAMPLES = 16_384;

/** A noise floor that is never quite silent, even in a quiet room: far below the audible level. */
const AIR_LEVEL = 0.0006;
const DEFAULT_NATURAL_SECONDS = 4;
/** Below the audible range: pulses in only one direction would push a loudspeaker out of its centre. */
const LOWEST_HERTZ = 22;
/** The level of a room's reverb relative to its input. */
const ROOM_GAIN = 0.55;

/** Divides the time among acts in proportion to the length that they prefer, in samples. */
function boundsOf(acts: readonly Act[], total: number): number[] {
  const wishes = acts.map((act) =>
    Math.max(...act.mentions.map(({ thing }) => thing.naturalSeconds ?? DEFAULT_NATURAL_SECONDS)),
  );
  const sum = wishes.reduce((before, wish) => before + wish, 0);
  let at = 0;
  return wishes.map((wish) => Math.round((total * (at += wish)) / sum));
}

function roomOf(act: Act): RoomName {
  if (act.room !== undefined) return act.room;
  return act.mentions.find(({ thing }) => thing.room !== undefined)?.thing.room ?? 'outdoors';
}

export class Piece {
  readonly #parts: { readonly part: Part; readonly room: RoomName }[] = [];
  readonly #rooms = new Map<RoomName, Reverb>();
  readonly #effects: WholeEffects;
  readonly #air: readonly [() => number, () => number];
  readonly #lowCut = [0, 1].map(() => new Biquad(highPass(SAMPLE_RATE, LOWEST_HERTZ)));
  readonly #total: number;
  #at = 0;

  /** @param total samples. */
  constructor(reading: SoundReading, total: number, seed: number) {
    const random: Random = createRandom(seed);
    this.#total = total;
    const bounds = boundsOf(reading.acts, total);
    for (const [actIndex, act] of reading.acts.entries()) {
      const room = roomOf(act);
      const start = bounds[actIndex - 1] ?? 0;
      const end = bounds[actIndex] ?? total;
      for (const [index, mention] of act.mentions.entries()) {
        const own = random.fork(`act ${actIndex} thing ${index} ${mention.thing.names[0] ?? ''}`);
        this.#parts.push({ part: new Part(mention, own, start, end, end >= total), room });
      }
      if (!this.#rooms.has(room)) this.#rooms.set(room, new Reverb(SAMPLE_RATE, ROOMS[room]));
    }
    this.#effects = new WholeEffects(reading.effects, random.fork('effects'));
    this.#air = [pinkNoise(random.fork('air left')), pinkNoise(random.fork('air right'))];
  }

  /** The next block of both channels; undefined when the sound is over. */
  next(): readonly [Float32Array, Float32Array] | undefined {
    const length = Math.min(BLOCK_SAMPLES, this.#total - this.#at);
    if (length <= 0) return undefined;
    const [left, right] = [new Float32Array(length), new Float32Array(length)];
    const sends = new Map([...this.#rooms.keys()].map((room) => [room, new Float32Array(length)]));
    for (const { part, room } of this.#parts) {
      part.render(this.#at, left, right, sends.get(room) ?? new Float32Array(length));
    }
    for (const [room, send] of sends) {
      for (let index = 0; index < length; index++) send[index] = (send[index] ?? 0) * ROOM_GAIN;
      this.#rooms.get(room)?.process(send, left, right);
    }
    for (let index = 0; index < length; index++) {
      left[index] = (left[index] ?? 0) + this.#air[0]() * AIR_LEVEL;
      right[index] = (right[index] ?? 0) + this.#air[1]() * AIR_LEVEL;
    }
    this.#lowCut[0]?.process(left);
    this.#lowCut[1]?.process(right);
    this.#effects.process(left, right);
    this.#at += length;
    return [left, right];
  }
}

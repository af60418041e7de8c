/**
 * Finds positions for the things of a scene: on which ground each stands, where across, and how large, so that they
 * keep clear of each other and the first thing that the prompt names is the most prominent.
 */
import { ANIMALS } from './absence.ts';
import { isCostumed } from './layers/costumes.ts';
import { railAt } from './layers/railway.ts';
import type { Thing } from './lexicon.ts';
import type { Mention } from './prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Look, Point, Surface } from './stage.ts';
import { ridden } from './riding.ts';
import { SUBJECTS } from './subjects.ts';
import type { Subject } from './subjects.ts';

/** One thing at its position. */
export interface Placed {
  readonly thing: Thing;
  readonly subject: Subject;
  readonly position: Point;
  readonly size: number;
  readonly look: Look;
}

interface Taken {
  readonly x: number;
  readonly half: number;
}

/** Remembers the occupied parts of a line and offers the freest of several positions. */
export class Room {
  readonly #taken: Taken[] = [];

  /** Takes the candidate with the most space and returns its x. */
  take(candidates: readonly number[], half: number): number {
    const gap = (x: number): number =>
      Math.min(1e6, ...this.#taken.map((other) => Math.abs(x - other.x) - other.half - half));
    let best = candidates[0] ?? 0;
    for (const x of candidates) if (gap(x) > gap(best)) best = x;
    this.#taken.push({ x: best, half });
    return best;
  }

  /** Whether a position is free. */
  isFree(x: number, half: number): boolean {
    return this.#taken.every((other) => Math.abs(x - other.x) > other.half + half);
  }
}

/** How much larger a thing is drawn: the first named thing most, crowds less. */
function prominence(mention: Mention, order: number, things: number): number {
  // A single animal is the subject of the image, and so is a person with a costume, and a rider.
  const isOne = ANIMALS.includes(mention.thing) || isCostumed(mention.word) || mention.rider !== undefined;
  const isAlone = things === 1 && mention.count === 1 && isOne;
  const hero = order === 0 ? (isAlone ? 2.1 : things <= 2 ? 1.45 : 1.2) : things <= 3 ? 1.1 : 0.95;
  return hero * mention.scale * (mention.count > 4 ? 0.72 : mention.count > 2 ? 0.86 : 1);
}

/** One mention that is drawn as an object: its index and the number of objects. */
export interface Entry {
  readonly mention: Mention;
  readonly subject: Subject;
  readonly order: number;
  readonly things: number;
}

/** The subjects of a scene, in the order of the prompt. */
export function subjectsOf(mentions: Iterable<Mention>): Entry[] {
  const found = [...mentions].flatMap((mention) => {
    const subject = SUBJECTS[mention.thing];
    if (subject === undefined) return [];
    const rider = mention.rider === undefined ? undefined : SUBJECTS[mention.rider.thing];
    return [{ mention, subject: rider === undefined ? subject : ridden(subject, mention, rider) }];
  });
  return found.map((entry, order) => ({ ...entry, order, things: found.length }));
}

export interface PlacingGround {
  readonly surface: Surface;
  readonly room: Room;
}

/** Places every copy of one mention on the ground. */
export function placeOnGround(entry: Entry, ground: PlacingGround, limit: number, random: Random): Placed[] {
  const { mention, subject } = entry;
  const { surface, room } = ground;
  const chance = random.fork(mention.thing);
  const across = surface.right - surface.left;
  const wanted = subject.height * surface.scale * prominence(mention, entry.order, entry.things);
  // Neither a thing higher than the image allows, nor a crowd wider than the ground.
  const tallest = Math.min(limit / 1.2, surface.headroom ?? limit);
  const fit = Math.min(1, tallest / wanted, (across * 0.85) / (wanted * subject.half * 2 * mention.count));
  return Array.from({ length: mention.count }, (_, copy): Placed => {
    const grow = prominence(mention, entry.order, entry.things) * (mention.count > 1 ? chance.between(0.86, 1.08) : 1);
    const size = subject.height * surface.scale * grow * fit;
    const half = size * subject.half;
    const [left, right] = [surface.left + half * 0.8, Math.max(surface.left + half, surface.right - half * 0.8)];
    const thirds =
      copy === 0 && entry.order === 0
        ? [0.34, 0.66].map((share) => surface.left + share * (surface.right - surface.left))
        : [];
    const spread = Array.from({ length: 16 }, () => chance.between(left, right));
    const candidates = [...thirds.filter((x) => x > left && x < right), ...spread];
    const x = room.take(candidates.length > 0 ? candidates : [(surface.left + surface.right) / 2], half);
    const below = surface.depth < 0.1 ? chance.between(16, 46) : chance.between(3, 10);
    const isRailed = surface.form === 'deck' || (surface.form === 'track' && mention.thing === 'train');
    const y = isRailed ? railAt(surface, x) : surface.yAt(x) + below;
    return {
      thing: mention.thing,
      subject,
      position: { x, y },
      size,
      look: {
        colour: mention.colour,
        depth: surface.depth * 0.7,
        facing: chance.chance(0.5) ? 1 : -1,
        word: mention.word,
        random: chance.fork(`look ${copy}`),
      },
    };
  });
}

/** Places every copy of one mention in a free area: in the air or on water. Nearer ones are lower and larger. */
export function placeInArea(
  entry: Entry,
  area: { left: number; right: number; top: number; bottom: number },
  room: Room,
  options: { random: Random; isWater: boolean },
): Placed[] {
  const { mention, subject } = entry;
  const chance = options.random.fork(mention.thing);
  const facing = chance.chance(0.5) ? 1 : -1;
  return Array.from({ length: mention.count }, (_, copy): Placed => {
    const near = copy === 0 && entry.order < 2 ? chance.between(0.42, 0.62) : chance.next() ** 1.3;
    const isFirst = copy === 0 && entry.order === 0;
    const distance = options.isWater ? 0.24 + near * 0.95 : isFirst ? 1 : 0.42 + chance.next() * 0.55;
    const size = subject.height * prominence(mention, entry.order, entry.things) * distance;
    const half = size * subject.half;
    const candidates = Array.from({ length: 16 }, () =>
      chance.between(area.left + half * 0.7, Math.max(area.left + half, area.right - half * 0.7)),
    );
    const thirds = isFirst ? [0.36, 0.64].map((share) => area.left + share * (area.right - area.left)) : [];
    const x = room.take([...thirds, ...candidates], half);
    const y = area.top + (area.bottom - area.top) * near;
    const depth = options.isWater ? Math.max(0, 0.5 - near * 0.6) : (1 - distance) * 0.7;
    return {
      thing: mention.thing,
      subject,
      position: { x, y },
      size,
      look: { colour: mention.colour, depth, facing, word: mention.word, random: chance.fork(`look ${copy}`) },
    };
  });
}

/** From far to near: a lower position in the image is in front. */
function farToNear(things: readonly Placed[]): Placed[] {
  return things.toSorted((first, second) => first.position.y - second.position.y);
}

/** Draws things in their order. */
export function drawAll(things: readonly Placed[], stage: Parameters<Subject['draw']>[0]): void {
  for (const { subject, position, size, look } of farToNear(things)) subject.draw(stage, position, size, look);
}

/** The sound for a prompt that names nothing known: a slow texture whose colour comes from the prompt's letters. */
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import type { Act, Mention } from './prompt-reading.ts';
import type { Bed, Thing } from './thing.ts';
import { drone, whoosh } from './things/cinema.ts';
import { sparkle } from './things/chimes.ts';

const CHORDS = [
  [1, 1.5, 2, 3],
  [1, 1.2, 1.5, 2.4],
  [1, 1.26, 1.5, 1.89],
  [0.5, 1, 1.335, 2],
  [1, 1.125, 1.5, 2.25],
] as const;

/** A breathing chord, with moving air and light on top. */
export function texture(prompt: string): Act {
  const random = createRandom(hashText(prompt));
  const chord = random.pick(CHORDS);
  const base = random.pick([82.4, 98, 110, 130.8, 146.8] as const);
  const brightness = random.between(450, 1500);
  const ground: Thing = {
    names: ['texture'],
    bed: (own, manner): Bed => drone(chord, base, brightness)(own, manner),
    spread: 1,
    wet: 0.4,
    naturalSeconds: 8,
    room: 'space',
  };
  const air: Thing = {
    names: ['movement'],
    strike: whoosh,
    rhythm: { every: [2.5, 5], first: 0.4 },
    spread: 0.8,
    wet: 0.5,
    level: -7,
  };
  const light: Thing = {
    names: ['light'],
    strike: sparkle,
    rhythm: { every: [3.5, 7], first: 1.2 },
    spread: 0.8,
    wet: 0.6,
    level: -10,
  };
  const manner = { weight: 1, pace: 0.8, pitch: 1, surface: undefined, course: undefined };
  const mention = (thing: Thing): Mention => ({ thing, manner, distance: 4, side: undefined, count: undefined });
  return { mentions: [ground, air, ...(random.chance(0.7) ? [light] : [])].map(mention), room: 'space' };
}

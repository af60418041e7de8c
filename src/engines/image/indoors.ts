/**
 * Which prompts are no landscape: a portrait, things on a table, a room. Named so, or naming nothing that stands under
 * the sky.
 */
import { hasAny, LANDS } from './lands.ts';
import type { Thing } from './lexicon.ts';
import type { PromptReading } from './prompt-reading.ts';
import { SUBJECTS } from './subjects.ts';

export const TABLETOP: readonly Thing[] = [
  ...(['cup', 'teapot', 'bowl', 'apple', 'pear', 'lemon', 'citrus', 'grape', 'bread', 'cheese', 'bottle'] as const),
  ...(['goblet', 'vase', 'book', 'candle', 'pumpkin', 'cake', 'houseplant', 'clock'] as const),
];
export const FURNITURE: readonly Thing[] = [
  ...(['fireplace', 'sofa', 'armchair', 'bed', 'bookshelf', 'piano', 'lamp', 'rug'] as const),
];
const ROOMS: readonly Thing[] = ['room', 'library', 'kitchen'];
const FACES: readonly Thing[] = ['person', 'couple', 'astronaut', 'robot'];

/** The setting of a prompt that is no landscape; undefined for all others. */
export function settingIndoors(reading: PromptReading): 'portrait' | 'table' | 'room' | undefined {
  const named = new Map(reading.mentions.map((mention) => [mention.thing, mention]));
  const isUnderSky = hasAny(named, LANDS) || reading.mentions.some(({ thing }) => isBuilding(thing));
  if (
    named.has('portrait') &&
    (hasAny(named, FACES) || !reading.mentions.some(({ thing }) => SUBJECTS[thing] !== undefined))
  )
    return 'portrait';
  if (hasAny(named, ROOMS)) return 'room';
  if (isUnderSky) return undefined;
  if (hasAny(named, FURNITURE)) return 'room';
  return hasAny(named, TABLETOP) || named.has('table') ? 'table' : undefined;
}

function isBuilding(thing: Thing): boolean {
  return SUBJECTS[thing]?.place === 'middle';
}

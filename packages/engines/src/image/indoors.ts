/**
 * Which prompts are not landscapes: a portrait, things on a table, a room. The prompt names one of these, or names
 * nothing that stands in the open.
 */
import { hasAny, LANDS } from './lands.ts';
import type { Thing } from './lexicon.ts';
import type { PromptReading } from './prompt-reading.ts';
import { SUBJECTS } from './subjects.ts';

export const TABLETOP: readonly Thing[] = [
  ...(['cup', 'teapot', 'bowl', 'apple', 'pear', 'lemon', 'citrus', 'grape', 'bread', 'cheese', 'bottle'] as const),
  ...(['goblet', 'vase', 'book', 'candle', 'pumpkin', 'cake', 'houseplant', 'clock'] as const),
  ...(['pizza', 'burger', 'noodles', 'pancake', 'doughnut', 'ice-cream', 'crystal', 'shoe', 'flask'] as const),
];
export const FURNITURE: readonly Thing[] = [
  ...(['fireplace', 'sofa', 'armchair', 'bed', 'bookshelf', 'piano', 'lamp', 'rug', 'guitar'] as const),
];
const ROOMS: readonly Thing[] = ['room', 'library', 'kitchen'];
const FACES: readonly Thing[] = ['person', 'couple', 'astronaut', 'robot'];

/** Words for details that are only visible in a face: a prompt that contains them implies a portrait. */
const FACE_WORDS =
  /\b(hair|haired|eyes|eyed|beard|bearded|moustache|freckles?|freckled|smil(?:e|es|ing)|laughing|glasses|sunglasses|lipstick|wrinkle[sd]?|raincoat|turban|earrings?)\b/i;

/** Whether a prompt without the word implies a portrait: people with faces, or people at a table. */
function isOfPeople(reading: PromptReading, named: ReadonlyMap<Thing, unknown>): boolean {
  const [first] = reading.mentions.filter(({ thing }) => SUBJECTS[thing] !== undefined || thing === 'table');
  if (first === undefined || (first.thing !== 'person' && first.thing !== 'couple') || first.count > 3) return false;
  return FACE_WORDS.test(reading.scenery) || (named.has('table') && !hasAny(named, LANDS) && !hasAny(named, ROOMS));
}

/** The setting of a prompt that is not a landscape; undefined for all others. */
export function settingIndoors(reading: PromptReading): 'portrait' | 'table' | 'room' | undefined {
  const named = new Map(reading.mentions.map((mention) => [mention.thing, mention]));
  const isUnderSky = hasAny(named, LANDS) || reading.mentions.some(({ thing }) => isBuilding(thing));
  if (
    named.has('portrait') &&
    (hasAny(named, FACES) || !reading.mentions.some(({ thing }) => SUBJECTS[thing] !== undefined))
  )
    return 'portrait';
  if (isOfPeople(reading, named)) return 'portrait';
  // A diner with something parked in front of it is seen from the street; a person at a window is in a room.
  const isParked = hasAny(named, ['car', 'motorcycle', 'bicycle', 'train']);
  if (hasAny(named, ROOMS) && !isParked) return 'room';
  if (isUnderSky) return undefined;
  if (hasAny(named, FURNITURE)) return 'room';
  const hasGuest = reading.mentions.some(({ thing }) => SUBJECTS[thing]?.zone === 'near');
  if (named.has('window') && hasGuest && !isParked) return 'room';
  return hasAny(named, TABLETOP) || named.has('table') ? 'table' : undefined;
}

function isBuilding(thing: Thing): boolean {
  return SUBJECTS[thing]?.zone === 'middle';
}

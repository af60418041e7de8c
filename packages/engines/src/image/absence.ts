/**
 * Things that an image must not show: the words that exclude several things at once, and the things that belong
 * together.
 */
import type { Season, Thing, TimeOfDay, Weather } from './lexicon.ts';

/** Something that can be excluded from an image. */
export type Excluded = Thing | TimeOfDay | Season | Weather;

const TREES: readonly Thing[] = ['tree', 'pine', 'blossom', 'palm', 'forest'];
const WATERS: readonly Thing[] = ['lake', 'sea', 'river', 'waterfall', 'beach'];
const BUILDINGS: readonly Thing[] = [
  ...(['house', 'castle', 'church', 'temple', 'tower', 'lighthouse', 'windmill'] as const),
  ...(['city', 'village', 'pyramid', 'bridge'] as const),
];
const VEHICLES: readonly Thing[] = [
  'car',
  'train',
  'plane',
  'ship',
  'boat',
  'rowboat',
  'rocket',
  'bicycle',
  'motorcycle',
];
export const ANIMALS: readonly Thing[] = [
  ...(['bird', 'eagle', 'owl', 'duck', 'penguin', 'cat', 'dog', 'fox', 'wolf', 'horse', 'unicorn', 'deer'] as const),
  ...([
    'bear',
    'rabbit',
    'cow',
    'sheep',
    'lion',
    'tiger',
    'panda',
    'zebra',
    'elephant',
    'giraffe',
    'camel',
    'turtle',
    'dragon',
  ] as const),
  ...(['whale', 'dolphin', 'fish', 'jellyfish', 'butterfly', 'frog', 'parrot', 'bee', 'octopus'] as const),
];
const PEOPLE: readonly Thing[] = ['person', 'couple', 'astronaut'];

/** Words for many kinds, each with what it excludes. */
const GROUPS: Readonly<Record<string, readonly Thing[]>> = {
  animal: ANIMALS,
  animals: ANIMALS,
  creatures: ANIMALS,
  wildlife: ANIMALS,
  building: BUILDINGS,
  buildings: BUILDINGS,
  architecture: BUILDINGS,
  houses: BUILDINGS,
  vehicle: VEHICLES,
  vehicles: VEHICLES,
  traffic: ['car', 'train'],
  water: WATERS,
  plants: [...TREES, 'flower', 'lavender', 'cactus', 'field'],
  vegetation: [...TREES, 'flower', 'lavender', 'cactus', 'field'],
  people: PEOPLE,
  humans: PEOPLE,
  boats: ['boat', 'rowboat', 'ship'],
};

/** Things that are excluded together with a thing. */
const KIN: { readonly [Name in Thing]?: readonly Thing[] } = {
  tree: TREES,
  forest: TREES,
  person: ['person', 'couple'],
  moon: ['moon', 'crescent'],
  boat: ['boat', 'rowboat'],
  bird: ['bird', 'eagle'],
};

/** Everything that a word excludes; nothing if it names no group. */
export function groupOf(word: string): readonly Thing[] {
  return Object.hasOwn(GROUPS, word) ? (GROUPS[word] ?? []) : [];
}

/** A thing and everything that belongs to it, itself first. */
export function withKin(thing: Thing): readonly Thing[] {
  return KIN[thing] ?? [thing];
}

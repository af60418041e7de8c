/**
 * The enrichment of a short prompt (`prompt_upsampling`, spec §2.5): the hour, the air, the season, companions for the
 * named things, and the material of its buildings, each only if the prompt leaves it open.
 */
import { settingIndoors } from './indoors.ts';
import { pickAllowed } from './lands.ts';
import type { Season, Thing, TimeOfDay, Weather } from './lexicon.ts';
import type { Material } from './lexicon-qualities.ts';
import type { Mention, PromptReading } from './prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';

/** Companions, and how many of each; the first entry that matches the scene decides. */
const COMPANIONS: readonly (readonly [having: readonly Thing[], ...company: readonly [Thing, count: number][]])[] = [
  [
    ['coral', 'fish', 'jellyfish'],
    ['fish', 5],
    ['jellyfish', 2],
    ['turtle', 1],
  ],
  [
    ['galaxy', 'planet', 'astronaut'],
    ['comet', 2],
    ['star', 1],
    ['planet', 1],
  ],
  [
    ['desert', 'canyon', 'cactus', 'camel'],
    ['cactus', 3],
    ['eagle', 1],
    ['rock', 2],
    ['cloud', 2],
  ],
  [
    ['city', 'road', 'car'],
    ['lamppost', 3],
    ['bird', 5],
    ['cloud', 2],
    ['tree', 2],
  ],
  [
    ['sea', 'beach', 'island', 'ship', 'whale', 'lighthouse', 'cliff'],
    ['bird', 5],
    ['boat', 2],
    ['cloud', 3],
    ['rock', 1],
  ],
  [
    ['lake', 'river', 'boat', 'duck'],
    ['mountain', 1],
    ['pine', 3],
    ['bird', 4],
    ['flower', 1],
  ],
  [
    ['forest', 'pine', 'owl', 'fox', 'wolf', 'bear', 'deer'],
    ['mushroom', 3],
    ['bird', 4],
    ['rock', 2],
    ['flower', 1],
  ],
  [
    ['mountain', 'volcano', 'castle'],
    ['pine', 3],
    ['eagle', 2],
    ['cloud', 2],
    ['flower', 1],
  ],
];
const ANYWHERE: readonly [Thing, count: number][] = [
  ['flower', 1],
  ['bird', 5],
  ['tree', 2],
  ['butterfly', 3],
  ['cloud', 3],
];

const MATERIALS: { readonly [Name in Thing]?: readonly [Material, ...Material[]] } = {
  house: ['wood', 'brick', 'stone'],
  castle: ['stone'],
  tower: ['brick', 'stone'],
  church: ['stone'],
  bridge: ['stone'],
  fence: ['wood'],
};

const WEATHERS: Record<TimeOfDay, readonly [Weather, ...Weather[]]> = {
  dawn: ['fog', 'fog', 'clear'],
  morning: ['clear', 'wind', 'fog'],
  noon: ['clear', 'wind'],
  afternoon: ['clear', 'wind'],
  sunset: ['clear', 'clear', 'wind'],
  dusk: ['fog', 'clear'],
  night: ['clear', 'fog'],
};

/** A reading with every choice made that enriches an image; the prompt's own words stay. */
export function upsampled(reading: PromptReading, random: Random): PromptReading {
  const { absent } = reading;
  const isIndoor = settingIndoors(reading) !== undefined;
  const time = reading.time ?? pickAllowed<TimeOfDay>(['dawn', 'afternoon', 'sunset', 'dusk'], absent, random);
  const season = reading.season ?? pickAllowed<Season>(['spring', 'summer', 'autumn'], absent, random);
  const air = pickAllowed(WEATHERS[time], absent, random);
  const weather = reading.weather.size > 0 || absent.has(air) ? reading.weather : new Set([air]);
  const mentions = reading.mentions.map((mention): Mention => {
    const [first, ...others] = MATERIALS[mention.thing] ?? [];
    if (first === undefined || mention.material !== undefined) return mention;
    return { ...mention, material: random.fork(mention.thing).pick([first, ...others]) };
  });
  const named = new Set(mentions.map(({ thing }) => thing));
  const [, ...company] = COMPANIONS.find(([having]) => having.some((thing) => named.has(thing))) ?? [[], ...ANYWHERE];
  const added = company
    .filter(([thing]) => !isIndoor && !named.has(thing) && !absent.has(thing))
    .map(([thing, count]): Mention => ({ thing, colour: undefined, count, scale: 1 }));
  // A prompt that names no land keeps the choice of it: companions alone would be read as the scene.
  const isOpen = reading.mentions.length === 0;
  return { ...reading, time, season, weather, mentions: isOpen ? mentions : [...mentions, ...added.slice(0, 4)] };
}

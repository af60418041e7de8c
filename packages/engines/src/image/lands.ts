/**
 * The land around the things that a prompt names, and scenes for prompts that name no known thing: so that no image is
 * empty.
 */
import type { Excluded } from './absence.ts';
import { withCoast } from './coasts.ts';
import type { Thing } from './lexicon.ts';
import type { Mention, PromptReading } from './prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { SUBJECTS } from './subjects.ts';
import type { Habitat } from './subjects.ts';

/** The land that is added if the prompt names a thing but no land around it. */
const LAND_AROUND: Record<Habitat, readonly [readonly Thing[], ...(readonly Thing[])[]]> = {
  meadow: [
    ['hill', 'field'],
    ['mountain', 'field'],
    ['field', 'tree'],
    ['hill', 'field', 'flower'],
  ],
  forest: [['forest'], ['forest', 'mountain']],
  desert: [['desert']],
  sea: [['sea'], ['sea', 'cloud']],
  lake: [
    ['lake', 'mountain', 'pine'],
    ['lake', 'hill'],
  ],
  undersea: [['coral']],
  space: [['galaxy', 'planet']],
  snow: [
    ['field', 'pine'],
    ['mountain', 'pine'],
  ],
  road: [
    ['road', 'hill'],
    ['road', 'desert'],
    ['road', 'city'],
  ],
  sky: [
    ['mountain', 'cloud'],
    ['hill', 'cloud'],
  ],
};

/** Scenes for prompts without any known word. */
const FREE_SCENES: readonly [readonly Thing[], ...(readonly Thing[])[]] = [
  ['mountain', 'lake', 'pine'],
  ['sea', 'boat', 'bird'],
  ['hill', 'field', 'tree', 'bird'],
  ['forest', 'mountain'],
  ['desert', 'cactus', 'sun'],
  ['city', 'lake'],
  ['mountain', 'field', 'flower'],
  ['sea', 'palm', 'cloud'],
  ['lavender', 'hill', 'house'],
  ['canyon', 'eagle'],
  ['mountain', 'river', 'pine', 'cloud'],
];

/** Things that make a scene by themselves. */
export const LANDS: readonly Thing[] = [
  'mountain',
  'volcano',
  'hill',
  'sea',
  'lake',
  'river',
  'waterfall',
  'beach',
  'island',
  'forest',
  'desert',
  'canyon',
  'cliff',
  'field',
  'lavender',
  'road',
  'city',
  'village',
  'coral',
  'galaxy',
  'planet',
];
const GROWTH: readonly Thing[] = ['pine', 'tree', 'blossom', 'palm', 'cactus', 'flower', 'sunflower'];

/** One item of a list that the prompt does not exclude; of the whole list if it excludes all of them. */
export function pickAllowed<Choice extends Excluded | readonly Excluded[]>(
  list: readonly [Choice, ...Choice[]],
  absent: ReadonlySet<Excluded>,
  random: Random,
): Choice {
  const isAllowed = (choice: Excluded | readonly Excluded[]): boolean =>
    typeof choice === 'string' ? !absent.has(choice) : choice.every((name) => !absent.has(name));
  const [first, ...others] = list.filter(isAllowed);
  // One draw no matter what is excluded: later random choices stay the same.
  return random.pick(first === undefined ? list : [first, ...others]);
}

/** Whether any of some things is named. */
export function hasAny(mentions: ReadonlyMap<Thing, unknown>, things: readonly Thing[]): boolean {
  return things.some((thing) => mentions.has(thing));
}

/** Adds land if the prompt names none, so that no image is empty. */
export function withLand(reading: PromptReading, random: Random): ReadonlyMap<Thing, Mention> {
  const { absent } = reading;
  const named = new Map(reading.mentions.map((mention) => [mention.thing, mention]));
  const mentions = new Map(withCoast(named, absent));
  const add = (things: readonly Thing[]): void => {
    for (const thing of things) {
      if (!mentions.has(thing) && !absent.has(thing))
        mentions.set(thing, { thing, colour: undefined, count: thing === 'bird' ? 4 : 1, scale: 1 });
    }
  };
  const isStreet = /^(street|alley|avenue|boulevard)$/.test(mentions.get('road')?.word ?? '');
  const isBuiltUp = hasAny(mentions, ['village', 'forest', 'house']);
  // A street belongs to a city, and so does a neon prompt that names no land.
  if ((isStreet && !isBuiltUp) || (reading.style === 'neon' && !hasAny(mentions, LANDS))) add(['city']);
  if (hasAny(mentions, LANDS)) {
    // A lone range of mountains stands behind something.
    const isBare =
      ['mountain', 'volcano', 'galaxy', 'planet', 'city'].some((thing) => mentions.has(thing as Thing)) &&
      mentions.size === 1;
    if (isBare && mentions.has('mountain'))
      add(pickAllowed<readonly Thing[]>([['lake', 'pine'], ['field', 'pine'], ['forest']], absent, random));
    return mentions;
  }
  const first = reading.mentions.find(({ thing }) => SUBJECTS[thing] !== undefined);
  const isWintry = reading.season === 'winter' || reading.weather.has('snow');
  const host = first?.rider?.thing === 'astronaut' ? first.rider : first;
  const habitat = host === undefined ? undefined : SUBJECTS[host.thing]?.habitat;
  if (habitat !== undefined)
    add(pickAllowed(LAND_AROUND[isWintry && habitat === 'meadow' ? 'snow' : habitat], absent, random));
  else if (hasAny(mentions, ['palm'])) add(['sea', 'beach']);
  else if (hasAny(mentions, ['cactus'])) add(['desert']);
  else if (hasAny(mentions, GROWTH))
    add(
      pickAllowed<readonly Thing[]>(
        [
          ['hill', 'field'],
          ['mountain', 'field'],
        ],
        absent,
        random,
      ),
    );
  else if (hasAny(mentions, ['star', 'comet', 'aurora', 'moon', 'crescent', 'firework']))
    add(pickAllowed<readonly Thing[]>([['mountain', 'lake', 'pine'], ['hill', 'pine'], ['sea']], absent, random));
  else add(pickAllowed(FREE_SCENES, absent, random));
  return mentions;
}

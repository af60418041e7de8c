/**
 * From what a prompt says to what the picture is made of: the setting, the time, where the horizon and the light are.
 * Whatever the prompt leaves open is chosen by chance that its text and the seed fix, within what goes well together.
 */
import type { GroundKind } from './layers/ground.ts';
import type { WaterKind } from './layers/water.ts';
import type { Season, Thing, TimeOfDay, Weather } from './lexicon.ts';
import type { Mention, PromptReading } from './prompt-reading.ts';
import type { Random } from './random.ts';
import type { LightSource } from './stage.ts';
import { SUBJECTS } from './subjects.ts';
import type { Habitat } from './subjects.ts';

type Setting = 'land' | 'water' | 'space' | 'undersea';

export interface Composition {
  readonly setting: Setting;
  readonly time: TimeOfDay;
  readonly season: Season;
  readonly weather: ReadonlySet<Weather>;
  /** What the prompt names, and what was added to make a scene of it. */
  readonly mentions: ReadonlyMap<Thing, Mention>;
  readonly ground: GroundKind;
  readonly water: WaterKind;
  /** As a share of the height. */
  readonly horizon: number;
}

/** What is added where the prompt names a thing but no land around it. */
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

/** Scenes for prompts of which no word is known. */
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

const LANDS: readonly Thing[] = [
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
  'field',
  'lavender',
  'road',
  'city',
  'village',
  'coral',
  'galaxy',
  'planet',
];
const WATERS: readonly Thing[] = [
  'sea',
  'lake',
  'beach',
  'island',
  'boat',
  'rowboat',
  'ship',
  'whale',
  'dolphin',
  'duck',
];
const GROWTH: readonly Thing[] = ['pine', 'tree', 'blossom', 'palm', 'cactus', 'flower'];
const NIGHT_THINGS: readonly Thing[] = [
  'moon',
  'crescent',
  'star',
  'galaxy',
  'aurora',
  'comet',
  'firework',
  'owl',
  'campfire',
  'ufo',
  'lantern',
  'planet',
  'astronaut',
];

function hasAny(mentions: ReadonlyMap<Thing, unknown>, things: readonly Thing[]): boolean {
  return things.some((thing) => mentions.has(thing));
}

/** Adds land where the prompt names none, so that no picture is empty. */
function withLand(reading: PromptReading, random: Random): ReadonlyMap<Thing, Mention> {
  const mentions = new Map(reading.mentions.map((mention) => [mention.thing, mention]));
  const add = (things: readonly Thing[]): void => {
    for (const thing of things) {
      if (!mentions.has(thing))
        mentions.set(thing, { thing, colour: undefined, count: thing === 'bird' ? 4 : 1, scale: 1 });
    }
  };
  if (hasAny(mentions, LANDS)) {
    // A lone range of mountains stands behind something.
    const isBare =
      ['mountain', 'volcano', 'galaxy', 'planet', 'city'].some((thing) => mentions.has(thing as Thing)) &&
      mentions.size === 1;
    if (isBare && mentions.has('mountain'))
      add(random.pick([['lake', 'pine'], ['field', 'pine'], ['forest']] as const));
    return mentions;
  }
  const first = reading.mentions.find(({ thing }) => SUBJECTS[thing] !== undefined);
  const habitat = first === undefined ? undefined : SUBJECTS[first.thing]?.habitat;
  if (habitat !== undefined)
    add(random.pick(LAND_AROUND[reading.season === 'winter' && habitat === 'meadow' ? 'snow' : habitat]));
  else if (hasAny(mentions, ['palm'])) add(['sea', 'beach']);
  else if (hasAny(mentions, ['cactus'])) add(['desert']);
  else if (hasAny(mentions, GROWTH))
    add(
      random.pick([
        ['hill', 'field'],
        ['mountain', 'field'],
      ] as const),
    );
  else if (hasAny(mentions, ['star', 'comet', 'aurora', 'moon', 'crescent', 'firework']))
    add(random.pick([['mountain', 'lake', 'pine'], ['hill', 'pine'], ['sea']] as const));
  else add(random.pick(FREE_SCENES));
  return mentions;
}

function chooseTime(reading: PromptReading, mentions: ReadonlyMap<Thing, Mention>, random: Random): TimeOfDay {
  if (reading.time !== undefined) return reading.time;
  if (reading.style === 'neon') return random.pick(['night', 'sunset'] as const);
  if (hasAny(mentions, NIGHT_THINGS)) return 'night';
  if (reading.weather.has('rain') || reading.weather.has('storm'))
    return random.pick(['afternoon', 'dusk', 'noon'] as const);
  if (reading.style === 'pastel') return random.pick(['dawn', 'morning'] as const);
  if (mentions.has('rainbow')) return 'morning';
  if (mentions.has('sun')) return random.pick(['sunset', 'dawn', 'afternoon'] as const);
  return random.pick(['dawn', 'morning', 'noon', 'afternoon', 'sunset', 'sunset'] as const);
}

function chooseSeason(reading: PromptReading, mentions: ReadonlyMap<Thing, Mention>, random: Random): Season {
  if (reading.season !== undefined) return reading.season;
  if (reading.weather.has('snow') || hasAny(mentions, ['snowman'])) return 'winter';
  if (hasAny(mentions, ['blossom'])) return 'spring';
  return random.pick(['spring', 'summer', 'summer', 'autumn'] as const);
}

function chooseGround(
  mentions: ReadonlyMap<Thing, Mention>,
  season: Season,
  weather: ReadonlySet<Weather>,
  setting: Setting,
): GroundKind {
  if (setting === 'space') return 'moon';
  if (hasAny(mentions, ['desert', 'pyramid', 'camel', 'canyon', 'beach'])) return 'sand';
  if (mentions.has('palm') && hasAny(mentions, ['sea', 'island'])) return 'sand';
  if (season === 'winter' || weather.has('snow')) return 'snow';
  if (mentions.has('lavender')) return 'lavender';
  if (mentions.has('forest')) return 'forest';
  if (mentions.has('city') && hasAny(mentions, ['road', 'car'])) return 'street';
  return 'meadow';
}

function chooseSetting(mentions: ReadonlyMap<Thing, Mention>): Setting {
  if (
    mentions.has('coral') ||
    (hasAny(mentions, ['fish', 'jellyfish']) && !hasAny(mentions, ['boat', 'ship', 'lake', 'river']))
  )
    return 'undersea';
  // A bridge leads over water.
  if (mentions.has('bridge') && !mentions.has('road')) return 'water';
  const isSky = hasAny(mentions, ['galaxy', 'planet', 'astronaut']);
  const earthly = LANDS.filter((thing) => thing !== 'galaxy' && thing !== 'planet' && mentions.has(thing));
  if (isSky && earthly.length === 0) return 'space';
  if (hasAny(mentions, WATERS) && !(hasAny(mentions, ['field', 'desert']) && !hasAny(mentions, ['sea', 'lake'])))
    return 'water';
  // A city with nothing before it stands at the water.
  if (mentions.has('city') && !hasAny(mentions, ['road', 'car', 'field', 'hill', 'desert', 'river'])) return 'water';
  return 'land';
}

/** Decides what the picture is made of. */
export function compose(reading: PromptReading, random: Random): Composition {
  const mentions = withLand(reading, random);
  const setting = chooseSetting(mentions);
  const time = chooseTime(reading, mentions, random);
  const season = chooseSeason(reading, mentions, random);
  const isOpenSea = hasAny(mentions, ['sea', 'beach', 'ship', 'whale', 'dolphin', 'island']) && !mentions.has('lake');
  const horizon =
    setting === 'water'
      ? random.between(0.53, 0.61)
      : setting === 'space'
        ? random.between(0.72, 0.78)
        : random.between(0.54, 0.62);
  return {
    setting,
    time,
    season,
    weather: reading.weather,
    mentions,
    ground: chooseGround(mentions, season, reading.weather, setting),
    water: isOpenSea ? 'sea' : 'lake',
    horizon,
  };
}

/** Where the sun or the moon stands, in logical units. */
export function placeLight(
  composition: Composition,
  size: { readonly width: number; readonly height: number },
  random: Random,
): LightSource {
  const { time, weather, mentions } = composition;
  const horizon = composition.horizon * size.height;
  const isNamed = hasAny(mentions, ['sun', 'moon', 'crescent']);
  const isNight = (time === 'night' || mentions.has('moon') || mentions.has('crescent')) && !mentions.has('sun');
  const heights: Record<TimeOfDay, number> = {
    dawn: 0.84,
    morning: 0.42,
    noon: 0.2,
    afternoon: 0.58,
    sunset: 0.86,
    dusk: 0.93,
    night: 0.28,
  };
  const isCovered =
    weather.has('rain') || weather.has('storm') || weather.has('cloudy') || weather.has('snow') || weather.has('fog');
  const named = mentions.get('sun') ?? mentions.get('moon') ?? mentions.get('crescent');
  const isPlain = time === 'noon' || time === 'morning';
  return {
    x: size.width * random.pick([0.24, 0.3, 0.36, 0.64, 0.7, 0.76]),
    y: horizon * (isNight ? random.between(0.2, 0.42) : heights[time] + random.between(-0.05, 0.03)),
    body: isNight
      ? mentions.has('crescent') || (!mentions.has('moon') && random.chance(0.35))
        ? 'crescent'
        : 'moon'
      : 'sun',
    isVisible:
      isNamed ||
      (!isCovered &&
        time !== 'dusk' &&
        !(isNight && hasAny(mentions, ['galaxy', 'firework', 'aurora'])) &&
        !(isPlain && random.chance(0.5))),
    radius: (isNight ? 40 : isPlain ? 34 : 50) * (named?.scale ?? 1) * random.between(0.9, 1.2),
  };
}

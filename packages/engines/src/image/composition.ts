/**
 * From a prompt to the composition of an image: the setting, the time, where the horizon and the light are. Choices
 * that the prompt leaves open are random, seeded by its text and the seed, within combinations that go well together.
 */
import { withoutCliff } from './coasts.ts';
import { settingIndoors } from './indoors.ts';
import { hasAny, LANDS, pickAllowed, withLand } from './lands.ts';
import type { GroundKind } from './layers/ground.ts';
import type { WaterKind } from './layers/water.ts';
import { ANIMALS } from './absence.ts';
import type { Excluded } from './absence.ts';
import type { Season, Thing, TimeOfDay, Weather } from './lexicon.ts';
import type { Mention, PromptReading } from './prompt-reading.ts';
import { withRiders } from './riding.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { LightSource } from './stage.ts';

/** The last three are indoors or close by: they have no horizon, weather or light of the sky of their own. */
export type Setting = 'land' | 'water' | 'space' | 'undersea' | 'portrait' | 'table' | 'room';

export interface Composition {
  readonly setting: Setting;
  readonly time: TimeOfDay;
  readonly season: Season;
  readonly weather: ReadonlySet<Weather>;
  /** What the prompt names, and the additions that make it a scene. */
  readonly mentions: ReadonlyMap<Thing, Mention>;
  /** Things that must not be added. */
  readonly absent: ReadonlySet<Excluded>;
  /** All of the prompt but its quotations: for painters that search for words of their own. */
  readonly words: string;
  readonly ground: GroundKind;
  readonly water: WaterKind;
  /** As a share of the height. */
  readonly horizon: number;
}

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

function chooseTime(reading: PromptReading, mentions: ReadonlyMap<Thing, Mention>, random: Random): TimeOfDay {
  const { absent } = reading;
  const pick = (...times: [TimeOfDay, ...TimeOfDay[]]): TimeOfDay => pickAllowed(times, absent, random);
  if (reading.time !== undefined) return reading.time;
  if (reading.style === 'neon') return pick('night', 'sunset');
  if (hasAny(mentions, NIGHT_THINGS)) return absent.has('night') ? 'dusk' : 'night';
  if (reading.weather.has('rain') || reading.weather.has('storm')) return pick('afternoon', 'dusk', 'noon');
  if (reading.style === 'pastel') return pick('dawn', 'morning');
  if (mentions.has('rainbow')) return 'morning';
  if (mentions.has('sun')) return pick('sunset', 'dawn', 'afternoon');
  return pick('dawn', 'morning', 'noon', 'afternoon', 'sunset', 'sunset');
}

function chooseSeason(reading: PromptReading, mentions: ReadonlyMap<Thing, Mention>, random: Random): Season {
  if (reading.season !== undefined) return reading.season;
  if (reading.weather.has('snow') || hasAny(mentions, ['snowman', 'penguin'])) return 'winter';
  if (hasAny(mentions, ['blossom'])) return 'spring';
  return pickAllowed<Season>(['spring', 'summer', 'summer', 'autumn'], reading.absent, random);
}

function chooseGround(
  mentions: ReadonlyMap<Thing, Mention>,
  season: Season,
  weather: ReadonlySet<Weather>,
  setting: Setting,
  absent: ReadonlySet<Excluded>,
): GroundKind {
  if (setting === 'space') return 'moon';
  if (hasAny(mentions, ['desert', 'pyramid', 'camel', 'canyon', 'beach'])) return 'sand';
  if (mentions.has('palm') && hasAny(mentions, ['sea', 'island'])) return 'sand';
  if (season === 'winter' || weather.has('snow')) return 'snow';
  if (mentions.has('lavender')) return 'lavender';
  if (mentions.has('forest')) return 'forest';
  if (hasAny(mentions, ['city', 'village']) && hasAny(mentions, ['road', 'car', 'lamppost'])) return 'street';
  return absent.has('field') ? 'sand' : 'meadow';
}

function chooseSetting(mentions: ReadonlyMap<Thing, Mention>, absent: ReadonlySet<Excluded>): Setting {
  if (
    mentions.has('coral') ||
    (hasAny(mentions, ['fish', 'jellyfish', 'octopus']) && !hasAny(mentions, ['boat', 'ship', 'lake', 'river']))
  )
    return 'undersea';
  const isDry = absent.has('lake') && absent.has('sea');
  if (mentions.has('eiffel') && !hasAny(mentions, ['lake', 'river', 'sea'])) return 'land';
  // A bridge leads over water; one for trains does so even if there is a road too.
  if (mentions.has('bridge') && (!mentions.has('road') || mentions.has('train'))) return 'water';
  const isRiddenInSpace = [...mentions.values()].some(({ rider }) => rider?.thing === 'astronaut');
  const isSky = hasAny(mentions, ['galaxy', 'planet', 'astronaut']) || isRiddenInSpace;
  const earthly = LANDS.filter((thing) => thing !== 'galaxy' && thing !== 'planet' && mentions.has(thing));
  if (isSky && earthly.length === 0) return 'space';
  if (hasAny(mentions, WATERS) && !(hasAny(mentions, ['field', 'desert']) && !hasAny(mentions, ['sea', 'lake'])))
    return 'water';
  // A city with nothing in front of it stands at the water.
  const isOpen = hasAny(mentions, ['road', 'car', 'field', 'hill', 'desert', 'river', 'bicycle', 'lamppost']);
  if (mentions.has('city') && !isOpen && !isDry) return 'water';
  return 'land';
}

/** The subject of a portrait is large: it fills the image. */
function closeUp(mentions: ReadonlyMap<Thing, Mention>): ReadonlyMap<Thing, Mention> {
  if (!mentions.has('portrait')) return mentions;
  return new Map([...mentions].map(([thing, mention]) => [thing, { ...mention, scale: mention.scale * 1.9 }]));
}

/** A family of an animal means more of that animal, and no people. */
function withFamilies(mentions: readonly Mention[]): readonly Mention[] {
  const animal = mentions.find(({ thing }) => ANIMALS.includes(thing));
  if (animal === undefined || !mentions.some(({ thing, word }) => thing === 'couple' && word === 'family'))
    return mentions;
  return mentions
    .filter(({ thing }) => thing !== 'couple')
    .map((mention) => (mention === animal ? { ...animal, count: Math.max(3, animal.count) } : mention));
}

/** Decides the composition of the image. */
export function compose(prompted: PromptReading, random: Random): Composition {
  const reading = { ...prompted, mentions: withFamilies(withRiders(prompted)) };
  const { absent } = reading;
  const indoors = settingIndoors(reading);
  const named = new Map(reading.mentions.map((mention) => [mention.thing, mention]));
  const mentions = indoors === undefined ? closeUp(withLand(reading, random)) : withoutCliff(named);
  const setting = indoors ?? chooseSetting(mentions, absent);
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
    absent,
    words: reading.scenery,
    ground: chooseGround(mentions, season, reading.weather, setting, absent),
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
  const { time, weather, mentions, absent } = composition;
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
        !absent.has(isNight ? 'moon' : 'sun') &&
        time !== 'dusk' &&
        !(isNight && hasAny(mentions, ['galaxy', 'firework', 'aurora'])) &&
        !(isPlain && random.chance(0.5))),
    radius: (isNight ? 40 : isPlain ? 34 : 50) * (named?.scale ?? 1) * random.between(0.9, 1.2),
  };
}

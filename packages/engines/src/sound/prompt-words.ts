/**
 * The words of prompts for sounds that are not things themselves: adjectives, places, ways of moving, order. Words are
 * compared by their stems, so `crickets`, `chirping` and `chirped` need no entry of their own.
 */
import type { Course, RoomName, Surface } from './thing.ts';

/** The change that a word makes to the thing that it belongs to. Numbers multiply. */
export interface Change {
  readonly weight?: number;
  readonly pace?: number;
  readonly pitch?: number;
  readonly surface?: Surface;
  readonly course?: Course;
  /** In metres; a thing is 4 m away by default. */
  readonly distance?: number;
  /** -1 left to 1 right. */
  readonly side?: number;
  /** How often it happens. */
  readonly count?: number;
}

/** The change that a word makes to the whole sound. */
export interface Effects {
  readonly isReversed: boolean;
  readonly isUnderwater: boolean;
  /** Through a small loudspeaker: radio, telephone. */
  readonly isThroughRadio: boolean;
  /** Behind a door or a wall. */
  readonly isMuffled: boolean;
  readonly hasEcho: boolean;
}

export const NO_EFFECTS: Effects = {
  isReversed: false,
  isUnderwater: false,
  isThroughRadio: false,
  isMuffled: false,
  hasEcho: false,
};

const VOWEL = /[aeiouy]/;

/** An English word without its endings; both sides of a comparison are cut the same way. */
export function stem(word: string): string {
  let rest = word.replace(/'s?$/, '');
  if (rest.endsWith('ies') && rest.length > 4) rest = `${rest.slice(0, -3)}y`;
  else if (/(?:ch|sh|ss|x|z)es$/.test(rest)) rest = rest.slice(0, -2);
  else if (/[^su]s$/.test(rest) && rest.length > 3) rest = rest.slice(0, -1);
  for (const ending of ['ing', 'ed', 'ly']) {
    const bare = rest.slice(0, -ending.length);
    if (!rest.endsWith(ending) || bare.length < 3 || !VOWEL.test(bare)) continue;
    rest = bare.replace(/([bdgklmnprtvz])\1$/, '$1');
    break;
  }
  return rest.length > 3 ? rest.replace(/e$/, '') : rest;
}

/** A phrase by its stems, joined by spaces: the key of a phrase. */
export function stems(phrase: string): string {
  return phrase.split(/[ -]/).map(stem).join(' ');
}

function lookup<Value>(entries: readonly (readonly [readonly string[], Value])[]): ReadonlyMap<string, Value> {
  return new Map(entries.flatMap(([phrases, value]) => phrases.map((phrase) => [stems(phrase), value] as const)));
}

/** Adjectives and adverbs. */
export const CHANGES: ReadonlyMap<string, Change> = lookup<Change>([
  [
    ['heavy', 'loud', 'strong', 'hard', 'intense', 'powerful', 'violent', 'torrential', 'pouring', 'roaring'],
    { weight: 1.6 },
  ],
  [['huge', 'massive', 'giant', 'enormous', 'gigantic', 'epic'], { weight: 1.8, pitch: 0.7 }],
  [['big', 'large', 'great'], { weight: 1.3, pitch: 0.8 }],
  [['soft', 'gentle', 'light', 'quiet', 'faint', 'calm', 'subtle', 'mild', 'muted', 'softly'], { weight: 0.55 }],
  [['small', 'little', 'tiny', 'baby', 'mini'], { weight: 0.6, pitch: 1.45 }],
  [['deep', 'low', 'low pitched', 'bassy', 'dark'], { pitch: 0.68 }],
  [['high', 'high pitched', 'shrill', 'bright'], { pitch: 1.45 }],
  [['slow', 'slowly', 'lazy', 'leisurely', 'creeping'], { pace: 0.6 }],
  [
    ['fast', 'quick', 'rapid', 'hurried', 'running', 'frantic', 'racing', 'hectic', 'sprinting', 'hasty'],
    { pace: 1.65 },
  ],
  [
    ['distant', 'far', 'faraway', 'far away', 'far off', 'in the distance', 'from afar', 'in the background'],
    { distance: 45 },
  ],
  [['close', 'close up', 'near', 'nearby', 'up close'], { distance: 1.5 }],
  [['on the left', 'to the left', 'left side'], { side: -0.8 }],
  [['on the right', 'to the right', 'right side'], { side: 0.8 }],
  [
    [
      'passing',
      'passing by',
      'pass by',
      'driving by',
      'drive by',
      'flying by',
      'fly by',
      'flyby',
      'flying over',
      'flyover',
      'flies over',
      'going by',
      'speeding by',
      'overhead',
      'from left to right',
      'drives past',
      'passes',
    ],
    { course: 'passing' },
  ],
  [
    ['approaching', 'coming closer', 'getting closer', 'getting louder', 'arriving', 'growing louder'],
    { course: 'approaching' },
  ],
  [
    [
      'leaving',
      'departing',
      'driving off',
      'driving away',
      'moving away',
      'fading away',
      'flying away',
      'going away',
      'fading out',
      'receding',
    ],
    { course: 'leaving' },
  ],
  [['accelerating', 'revving', 'speeding up', 'starting up', 'taking off', 'starting'], { course: 'accelerating' }],
  [['slowing down', 'braking', 'stopping', 'powering off', 'shutting down'], { course: 'slowing' }],
  [['once', 'single'], { count: 1 }],
  [['twice', 'double'], { count: 2 }],
  [['thrice', 'triple'], { count: 3 }],
  [['wood', 'wooden', 'parquet', 'floorboard', 'hardwood', 'plank'], { surface: 'wood' }],
  [
    ['stone', 'concrete', 'pavement', 'marble', 'tile', 'asphalt', 'cobblestone', 'brick', 'sidewalk'],
    { surface: 'stone' },
  ],
  [['gravel', 'pebble', 'rubble'], { surface: 'gravel' }],
  [['snow', 'snowy', 'ice'], { surface: 'snow' }],
  [['grass', 'meadow', 'lawn'], { surface: 'grass' }],
  [['leaf', 'leaves', 'dry leaves', 'foliage', 'undergrowth'], { surface: 'leaves' }],
  [['metal', 'metallic', 'steel', 'iron', 'tin', 'corrugated', 'car roof'], { surface: 'metal' }],
  [['puddle', 'wet', 'mud', 'muddy', 'pond', 'on water', 'lake'], { surface: 'water' }],
  [['sand', 'sandy'], { surface: 'sand' }],
  [['carpet', 'rug'], { surface: 'carpet' }],
  [['window', 'glass', 'windowpane', 'windshield'], { surface: 'glass' }],
  [['roof', 'rooftop'], { surface: 'roof' }],
  [['tent', 'umbrella', 'canvas', 'tarp'], { surface: 'cloth' }],
]);

/** Places with an echo and no sounds of their own. Places with sounds of their own are among the things. */
export const ROOM_WORDS: ReadonlyMap<string, RoomName> = lookup<RoomName>([
  [['room', 'bedroom', 'office', 'kitchen', 'house', 'indoors', 'inside', 'studio', 'living room', 'corridor'], 'room'],
  [['bathroom', 'shower room', 'toilet'], 'bathroom'],
  [
    ['hall', 'large hall', 'auditorium', 'theatre', 'theater', 'gym', 'warehouse', 'station', 'hangar', 'mansion'],
    'hall',
  ],
  [['church', 'cathedral', 'temple', 'monastery', 'chapel', 'abbey', 'dome'], 'church'],
  [['cave', 'cavern', 'dungeon', 'crypt', 'catacomb', 'mine'], 'cave'],
  [['tunnel', 'pipe', 'sewer', 'subway', 'underpass', 'garage', 'stairwell'], 'tunnel'],
  [['canyon', 'valley', 'mountain', 'gorge'], 'canyon'],
  [['woods', 'forest', 'park'], 'forest'],
  [['outside', 'outdoors', 'street', 'yard', 'garden', 'field', 'backyard', 'desert'], 'outdoors'],
  [['reverb', 'reverberant', 'reverberating', 'ethereal', 'cosmic', 'dreamy', 'infinite'], 'space'],
]);

export const EFFECTS: ReadonlyMap<string, Partial<Effects>> = lookup<Partial<Effects>>([
  [['reversed', 'reverse', 'backwards', 'backward'], { isReversed: true }],
  [['underwater', 'submerged', 'under the sea', 'under the surface'], { isUnderwater: true }],
  [
    [
      'over the radio',
      'through a radio',
      'on the radio',
      'through the phone',
      'over the phone',
      'lo fi',
      'lofi',
      'walkie talkie',
      'megaphone',
      'old recording',
    ],
    { isThroughRadio: true },
  ],
  [
    [
      'muffled',
      'behind a door',
      'behind the door',
      'behind a wall',
      'next door',
      'through a wall',
      'through the wall',
      'from another room',
    ],
    { isMuffled: true },
  ],
  [['echo', 'echoing', 'echoes'], { hasEcho: true }],
]);

/** Words that split a prompt into sounds that follow each other. */
export const THEN: ReadonlySet<string> = new Set(
  [
    'then',
    'and then',
    'followed by',
    'after that',
    'afterwards',
    'next',
    'finally',
    'before',
    'until',
    'ending with',
    'ends with',
    'leading to',
    'turns into',
    'turning into',
  ].map(stems),
);

/** After these words a thing that only strikes is where something happens, not what: `a knock on a door`. */
export const WHERE: ReadonlySet<string> = new Set(['on', 'onto', 'against', 'upon', 'at', 'of']);

/** These words end the effect of such a word: `rain on a roof and thunder`. */
export const BESIDE: ReadonlySet<string> = new Set(['and', 'with', 'while', 'plus', 'as', 'in']);

/** Words that exclude the next thing. */
export const NOT: ReadonlySet<string> = new Set(['no', 'without', 'not', 'minus', 'except']);

export const COUNTS: ReadonlyMap<string, number> = new Map(
  ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'].map(
    (word, index) => [stem(word), index + 1],
  ),
);

/** Words that turn the number before them into a count: `three times`. */
export const TIMES: ReadonlySet<string> = new Set(['times', 'strokes', 'beats'].map(stem));

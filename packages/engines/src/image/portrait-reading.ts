/**
 * What a prompt says about a face: the person, hair, beard, glasses, hat, clothes, mood. The rest is chosen at random.
 */
import { hex } from './colour.ts';
import type { Colour } from './colour.ts';
import { COLOURS } from './lexicon-qualities.ts';
import type { Random } from '@darkroom/seeded-random/random';

export type HairForm = 'long' | 'short' | 'curly' | 'bun' | 'bald' | 'braids' | 'bob';
export type HeadWear = 'none' | 'hat' | 'crown' | 'hood' | 'cap' | 'helmet' | 'beret';

export interface Sitter {
  readonly skin: Colour;
  readonly hair: Colour;
  readonly hairForm: HairForm;
  readonly eyes: Colour;
  readonly lips: Colour;
  readonly beard: 'none' | 'beard' | 'moustache' | 'stubble';
  readonly hasGlasses: boolean;
  readonly hasEarrings: boolean;
  readonly hasFreckles: boolean;
  readonly headWear: HeadWear;
  readonly clothes: Colour;
  readonly isOld: boolean;
  readonly isChild: boolean;
  readonly isWoman: boolean;
  /** -1 sad to 1 smiling. */
  readonly mood: number;
}

/** The colour before a word, or after it with `is` or `are`. */
function colourOf(text: string, words: string): Colour | undefined {
  const names = [...COLOURS.keys(), 'blonde', 'blond', 'brunette', 'dark', 'auburn'].join('|');
  // The last colour before the word: in `red hair and a yellow raincoat` each has its own.
  const found = new RegExp(`^.*\\b(${names})\\b(?:[a-z, -]{0,18})\\b(?:${words})\\b`, 's').exec(text);
  const name = found?.[1];
  if (name === undefined) return undefined;
  const hairNames: Readonly<Record<string, string>> = {
    blonde: '#d9b25e',
    blond: '#d9b25e',
    brunette: '#4a2f20',
    dark: '#231a18',
    auburn: '#7d3a22',
    red: '#b5482a',
    brown: '#5a3a26',
    black: '#1d1a1c',
    golden: '#d6a53f',
    grey: '#9a9a9c',
    gray: '#9a9a9c',
    white: '#e9e6e0',
  };
  const isHair = /hair|beard/.test(words);
  const code = (isHair ? hairNames[name] : undefined) ?? COLOURS.get(name) ?? hairNames[name];
  return code === undefined ? undefined : hex(code);
}

function hairFormOf(text: string, isWoman: boolean, isOld: boolean, random: Random): HairForm {
  if (/\b(bald|shaved head)\b/.test(text)) return 'bald';
  if (/\b(curly|curls|afro|frizzy|wavy)\b/.test(text)) return 'curly';
  if (/\b(bun|ponytail|updo)\b/.test(text)) return 'bun';
  if (/\b(braids?|braided|plaits?|pigtails)\b/.test(text)) return 'braids';
  if (/\b(bob)\b/.test(text)) return 'bob';
  if (/\b(short hair|cropped)\b/.test(text)) return 'short';
  if (/\b(long hair|long [a-z]+ hair|flowing)\b/.test(text)) return 'long';
  if (isWoman) return random.pick(['long', 'bob', 'bun', 'curly', 'long'] as const);
  return isOld && random.chance(0.4) ? 'bald' : random.pick(['short', 'short', 'curly'] as const);
}

function headWearOf(text: string): HeadWear {
  if (/\b(king|queen|crown|princess|prince|tiara)\b/.test(text)) return 'crown';
  if (/\b(astronaut|cosmonaut|helmet|spaceman)\b/.test(text)) return 'helmet';
  if (/\b(wizard|monk|hood|hooded|cloak)\b/.test(text)) return 'hood';
  if (/\b(beret|painter|artist)\b/.test(text)) return 'beret';
  if (/\b(cap|baseball|fisherman|sailor|skipper)\b/.test(text)) return 'cap';
  return /\b(hat|fedora|cowboy|farmer|sun hat|straw)\b/.test(text) ? 'hat' : 'none';
}

/** The clothes that some people usually wear. */
function usualClothes(text: string): Colour | undefined {
  if (/\b(astronaut|cosmonaut|spaceman|bride|doctor|chef)\b/.test(text)) return hex('#e9e7e2');
  if (/\b(king|queen|prince|princess)\b/.test(text)) return hex('#7a2438');
  if (/\b(fisherman|sailor|skipper)\b/.test(text)) return hex('#2b3f5c');
  if (/\b(firefighter|fireman|santa)\b/.test(text)) return hex('#b3262b');
  if (/\b(nurse|surgeon)\b/.test(text)) return hex('#7fb9b4');
  return /\b(wizard|monk)\b/.test(text) ? hex('#3f3a6b') : undefined;
}

/** Reads the sitter of a portrait from the prompt. */
export function readSitter(scenery: string, random: Random): Sitter {
  const text = scenery.toLowerCase();
  const isWomanNamed = /\b(woman|girl|lady|queen|princess|mother|grandmother|she|her|actress|bride|ballerina)\b/.test(
    text,
  );
  const isManNamed =
    /\b(man|boy|guy|king|prince|father|grandfather|he|his|wizard|monk|knight|fisherman|farmer|samurai|beard(?:ed)?)\b/.test(
      text,
    );
  const isWoman = isWomanNamed || (!isManNamed && random.chance(0.5));
  const isOld = /\b(old|elderly|grand(?:mother|father)|aged|wrinkled|wizard)\b/.test(text);
  const isChild = /\b(girl|boy|child|kid|young|baby|toddler)\b/.test(text);
  const skins = ['#f0c8a6', '#e3b08c', '#c98d63', '#9a623f', '#6e4530', '#f5d6bd'] as const;
  const skin = /\b(dark[- ]skinned|black (?:woman|man|girl|boy)|african|ebony)\b/.test(text)
    ? hex('#6e4530')
    : /\b(pale|fair|white (?:woman|man))\b/.test(text)
      ? hex('#f5d6bd')
      : hex(random.pick(skins));
  const hairs = isOld
    ? (['#d9d6d0', '#b5b2ae'] as const)
    : (['#2b1d18', '#4a2f20', '#8a5a30', '#c9a04f', '#1d1a1c', '#7d3a22'] as const);
  const mood = /\b(smil\w*|happy|laugh\w*|cheerful|joyful|friendly)\b/.test(text)
    ? 1
    : /\b(sad|serious|melanchol\w*|stern|tired|angry|thoughtful)\b/.test(text)
      ? -0.55
      : 0.35;
  return {
    skin,
    hair: colourOf(text, 'hair|curls|braids|bun|ponytail') ?? hex(random.pick(hairs)),
    hairForm: hairFormOf(text, isWoman, isOld, random),
    eyes: colourOf(text, 'eyes|eyed|eye') ?? hex(random.pick(['#4a6a7f', '#5a4028', '#4f6a3f', '#3a2c22'])),
    lips: hex(isWoman ? '#b5444a' : '#a8665a'),
    beard: /\bmoustache\b/.test(text)
      ? 'moustache'
      : /\b(beard|bearded|wizard)\b/.test(text)
        ? 'beard'
        : !isWoman && !isChild && random.chance(0.3)
          ? 'stubble'
          : 'none',
    hasGlasses: /\b(glasses|spectacles|sunglasses|professor|nerd)\b/.test(text),
    hasEarrings: /\b(earrings?|queen|princess)\b/.test(text) || (isWoman && !isChild && random.chance(0.35)),
    hasFreckles: /\bfreckle/.test(text) || (isChild && random.chance(0.4)),
    headWear: headWearOf(text),
    clothes:
      colourOf(
        text,
        'dress|shirt|t-shirt|coat|raincoat|jacket|sweater|jumper|cardigan|suit|scarf|cloak|clothes|robe|blouse|hoodie|kimono|uniform|vest|overalls|armou?r',
      ) ??
      usualClothes(text) ??
      hex(random.pick(['#35566b', '#8a3b34', '#4d6b4a', '#c9983f', '#6b3f5c', '#2f3a4f'])),
    isOld,
    isChild,
    isWoman,
    mood,
  };
}

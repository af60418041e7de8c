/**
 * The words by which a prompt describes a thing: its colour, number, size and material.
 */

/** Colour words, as paint in daylight. */
const COLOUR_WORDS: Readonly<Record<string, string>> = {
  red: '#d0342c',
  crimson: '#a3152d',
  scarlet: '#e0301e',
  orange: '#f08a24',
  amber: '#f5a623',
  yellow: '#f6cf3a',
  golden: '#e8b13a',
  gold: '#e3ab2e',
  green: '#3f9b4f',
  emerald: '#1f9d72',
  olive: '#7d8b3a',
  mint: '#9fe0c4',
  lime: '#a6d934',
  teal: '#1f8a8c',
  turquoise: '#36bdb8',
  cyan: '#2fc3dd',
  blue: '#2f6fd0',
  navy: '#1e3163',
  azure: '#3d9be9',
  indigo: '#41389b',
  violet: '#7d4fc4',
  purple: '#7b3fa6',
  lilac: '#b99ad6',
  magenta: '#d1348f',
  pink: '#f08fb1',
  rosy: '#e89aa8',
  coral: '#f4775f',
  peach: '#f9bd98',
  salmon: '#f28e7c',
  brown: '#7a5136',
  copper: '#b5673a',
  beige: '#dccbaa',
  cream: '#f4ead2',
  white: '#f5f3ee',
  silver: '#c3c9cf',
  grey: '#8b9096',
  gray: '#8b9096',
  black: '#24252b',
  maroon: '#6e1f2a',
  ginger: '#d8782e',
};

const COUNT_WORDS: Readonly<Record<string, number>> = {
  one: 1,
  single: 1,
  lone: 1,
  lonely: 1,
  two: 2,
  pair: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  several: 4,
  many: 7,
  countless: 9,
};

const SIZE_WORDS: Readonly<Record<string, number>> = {
  tiny: 0.6,
  small: 0.75,
  little: 0.75,
  distant: 0.6,
  far: 0.6,
  big: 1.3,
  large: 1.3,
  huge: 1.6,
  giant: 1.7,
  enormous: 1.7,
  tall: 1.25,
};

/** What a thing can be made of. */
export type Material =
  | 'wood'
  | 'stone'
  | 'brick'
  | 'marble'
  | 'gold'
  | 'metal'
  | 'rust'
  | 'ice'
  | 'glass'
  | 'moss'
  | 'wool'
  | 'paper';

const MATERIAL_WORDS: Readonly<Record<Material, string>> = {
  wood: 'wooden wood-carved timber oaken log',
  stone: 'stone cobblestone granite',
  brick: 'brick bricks',
  marble: 'marble porcelain',
  gold: 'gilded golden-plated',
  metal: 'metal metallic steel iron chrome silver-plated',
  rust: 'rusty rusted rust weathered',
  ice: 'crystal ice-carved',
  glass: 'transparent translucent',
  moss: 'mossy overgrown ivy',
  wool: 'woolen woollen knitted felt fluffy',
  paper: 'paper cardboard',
};

/** Words that imply a colour by themselves. */
export const USUAL_COLOURS: Readonly<Record<string, string | undefined>> = {
  'polar-bear': '#f2efe6',
  panther: '#2b2930',
  raven: '#22232a',
  crow: '#22232a',
  cupcake: '#e8a3c4',
};

export const COLOURS: ReadonlyMap<string, string> = new Map(Object.entries(COLOUR_WORDS));
export const COUNTS: ReadonlyMap<string, number> = new Map(Object.entries(COUNT_WORDS));
export const SIZES: ReadonlyMap<string, number> = new Map(Object.entries(SIZE_WORDS));
export const MATERIALS: ReadonlyMap<string, Material> = new Map(
  (Object.keys(MATERIAL_WORDS) as Material[]).flatMap((material) =>
    MATERIAL_WORDS[material].split(' ').map((word) => [word, material] as const),
  ),
);

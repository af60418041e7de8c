/** Bells, gongs and bowls: large bodies with many modes, each with its own pitch and its own decay. */
import type { Random } from '@darkroom/seeded-random/random';
import { filtered, highPass, lowPass } from '../signal/biquad.ts';
import { whiteNoise } from '../signal/noise.ts';
import { SAMPLE_RATE, about, addAt, burst, fallingIn, ringing, samplesIn, struck, together } from '../signal/shapes.ts';
import type { Mode } from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';

const RATE = SAMPLE_RATE;

/** Partials that a founder tunes: hum, prime, tierce, quint, nominal and higher. As parts of half the nominal. */
const CHURCH_PARTIALS: readonly (readonly [number, number, number])[] = [
  [0.5, 0.55, 1],
  [1, 0.75, 0.62],
  [1.2, 0.8, 0.5],
  [1.5, 0.35, 0.36],
  [2, 1, 0.34],
  [2.5, 0.4, 0.22],
  [2.67, 0.35, 0.2],
  [3.01, 0.45, 0.18],
  [4.1, 0.35, 0.12],
  [5.43, 0.25, 0.08],
  [6.79, 0.18, 0.06],
  [8.21, 0.12, 0.04],
];

/** Each mode twice, slightly detuned: no bell is perfectly round, so it beats. */
export function doubled(random: Random, modes: readonly Mode[]): Mode[] {
  return modes.flatMap((mode) => [
    { ...mode, level: mode.level * 0.6 },
    { ...mode, hertz: mode.hertz * (1 + random.between(0.0004, 0.0022)), level: mode.level * 0.45 },
  ]);
}

export function clapper(random: Random, brightness: number): Float32Array {
  return filtered(burst(0.03, whiteNoise(random), fallingIn(0.012)), lowPass(RATE, brightness), highPass(RATE, 300));
}

/** A large bell in a tower. Its partials are inharmonic: the tierce is a minor third. */
function churchBell(hertz: number, seconds: number): (random: Random, manner: Manner, turn: number) => Take {
  return (random, { pitch, weight }) => {
    const modes = CHURCH_PARTIALS.map(([ratio, level, patience]) => ({
      hertz: hertz * pitch * ratio,
      level: level * random.between(0.85, 1.1),
      decay: seconds * patience,
    }));
    return together([ringing(seconds, doubled(random, modes))], [clapper(random, 4000), 0, 1.1 * weight]);
  };
}

/** Bells of a tower pulled one after the other, each with its own note, as ringers do. */
function peal(random: Random, manner: Manner, turn: number): Take {
  const scale = [1, 0.891, 0.794, 0.749, 0.667, 0.595];
  // In rounds from the highest; occasionally two swap positions.
  const position = (turn + (random.chance(0.25) ? 1 : 0)) % scale.length;
  return churchBell(520 * (scale[position] ?? 1), 5)(random, manner, turn);
}

/** A rod or a small cup: the modes of a bar, far apart. */
export function smallBell(hertz: number, seconds: number): (random: Random, manner: Manner) => Take {
  return (random, { pitch, weight }) => {
    const base = about(random, hertz * pitch, 0.004);
    const modes = [
      { hertz: base, level: 1, decay: seconds },
      { hertz: base * 2.756, level: 0.55, decay: seconds * 0.5 },
      { hertz: base * 5.404, level: 0.32, decay: seconds * 0.25 },
      { hertz: base * 8.933, level: 0.15, decay: seconds * 0.12 },
    ];
    return together([ringing(seconds, doubled(random, modes))], [clapper(random, 9000), 0, 0.5 * weight]);
  };
}

/** A tam-tam: the stroke is a deep hum, and the high frequencies bloom a moment later and shimmer. */
function gong(random: Random, { pitch, weight }: Manner): Take {
  const seconds = 9;
  const whole = new Float32Array(samplesIn(seconds));
  for (let index = 0; index < 64; index++) {
    const hertz = index === 0 ? 74 * pitch : 58 * pitch * 2 ** (random.next() * 6.9);
    const height = Math.log2(hertz / (58 * pitch)) / 6.9;
    const decay = seconds * (1 - 0.72 * height) * random.between(0.7, 1);
    const bloom = 0.02 + 0.85 * height ** 0.8 * random.between(0.6, 1.2);
    const mode = ringing(seconds, [
      { hertz, level: 1, decay },
      { hertz: hertz * 1.0016, level: 0.8, decay },
    ]);
    const level = (index === 0 ? 1.6 : 0.55 * (1 - 0.4 * height)) * random.between(0.4, 1);
    for (let at = 0; at < mode.length; at++) {
      const rise = Math.min(1, at / RATE / bloom);
      whole[at] = (whole[at] ?? 0) + (mode[at] ?? 0) * level * rise * rise;
    }
  }
  return together(
    [whole, 0, 0.4],
    [filtered(burst(0.2, whiteNoise(random), struck(0.004, 0.18)), lowPass(RATE, 500)), 0, 1.2 * weight],
  );
}

/** Tubes moved by the wind: a pentatonic scale, in no order. */
function windChime(random: Random, manner: Manner): Take {
  const hertz = random.pick([523, 587, 659, 784, 880, 1047, 1175, 1319] as const) * 2;
  return smallBell(hertz, random.between(2.2, 3.6))(random, { ...manner, weight: 0.5 });
}

function singingBowl(random: Random, { pitch }: Manner): Take {
  const base = 196 * pitch;
  const modes = [
    { hertz: base, level: 1, decay: 11 },
    { hertz: base * 1.006, level: 0.9, decay: 11 },
    { hertz: base * 2.71, level: 0.5, decay: 8 },
    { hertz: base * 2.722, level: 0.45, decay: 8 },
    { hertz: base * 5.16, level: 0.22, decay: 5 },
    { hertz: base * 8.1, level: 0.08, decay: 2.5 },
  ];
  return together(
    [ringing(9, modes, 0.02)],
    [filtered(burst(0.05, whiteNoise(random), fallingIn(0.04)), lowPass(RATE, 900)), 0, 0.4],
  );
}

function triangleOfSteel(random: Random, { pitch }: Manner): Take {
  const modes = Array.from({ length: 11 }, (_, index) => ({
    hertz: (1650 + index * 830 + random.between(-120, 120)) * pitch,
    level: random.between(0.3, 1),
    decay: random.between(1.5, 3.6),
  }));
  return ringing(3.5, doubled(random, modes));
}

/** Many little balls in their cups. */
function sleighBells(random: Random, { pitch, weight, pace }: Manner): Take {
  const whole = new Float32Array(samplesIn(0.5));
  for (let index = 0; index < 26; index++) {
    const hertz = random.between(4200, 9500) * pitch;
    const jingle = ringing(0.22, [
      { hertz, level: 1, decay: 0.2 },
      { hertz: hertz * 1.37, level: 0.6, decay: 0.14 },
    ]);
    addAt(whole, jingle, (random.next() ** 1.8 * 0.16) / pace, random.between(0.2, 1) * weight * 0.3);
  }
  return whole;
}

export const BELLS: readonly Thing[] = [
  {
    names: [
      'church bell',
      'church bells',
      'cathedral bell',
      'bell tower',
      'tower bell',
      'steeple',
      'big ben',
      'bell tolling',
      'toll',
      'tolling',
    ],
    strike: churchBell(330, 8),
    rhythm: { every: [2.3, 2.5], isFixed: true },
    naturalSeconds: 6,
    wet: 0.3,
    room: 'canyon',
  },
  {
    names: ['wedding bells', 'peal', 'peal of bells', 'carillon', 'ringing bells'],
    strike: peal,
    rhythm: { every: [0.33, 0.42] },
    naturalSeconds: 6,
    wet: 0.3,
    room: 'canyon',
  },
  {
    names: ['bell', 'handbell', 'hand bell', 'dinner bell', 'ship bell', 'bell ringing'],
    strike: churchBell(880, 4),
    rhythm: { every: [1.5, 1.9], isFixed: true },
    naturalSeconds: 4,
    wet: 0.25,
    room: 'hall',
  },
  {
    names: ['gong', 'tam tam', 'tamtam'],
    strike: gong,
    rhythm: { every: [5, 7], isFixed: true },
    naturalSeconds: 6,
    wet: 0.35,
    room: 'hall',
  },
  {
    names: ['wind chime', 'wind chimes', 'chime', 'chimes'],
    strike: windChime,
    rhythm: { every: [0.9, 2.2], group: [2, 5], gap: [0.08, 0.35] },
    spread: 0.5,
    naturalSeconds: 5,
    wet: 0.3,
  },
  {
    names: ['singing bowl', 'bowl', 'meditation bell', 'tibetan bowl', 'meditation'],
    strike: singingBowl,
    rhythm: { every: [6, 8], isFixed: true },
    naturalSeconds: 7,
    wet: 0.35,
    room: 'hall',
  },
  {
    names: ['triangle', 'triangle hit'],
    strike: triangleOfSteel,
    rhythm: { every: [1.6, 2], isFixed: true },
    naturalSeconds: 3,
    room: 'hall',
  },
  {
    names: ['sleigh bell', 'sleigh bells', 'jingle bells', 'jingle', 'tambourine'],
    strike: sleighBells,
    rhythm: { every: [0.34, 0.36], isFixed: true },
    naturalSeconds: 4,
    room: 'hall',
  },
];

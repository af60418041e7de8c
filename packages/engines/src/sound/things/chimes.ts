/** Things that ring in houses and in tales: the doorbell, glasses, a music box, the glitter of a spell. */
import type { Random } from '@darkroom/seeded-random/random';
import { whiteNoise } from '../signal/noise.ts';
import { addAt, burst, fallingIn, ringing, samplesIn, swelling, together, tone } from '../signal/shapes.ts';
import type { Mode } from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { swarm } from './grains.ts';
import { doubled, clapper } from './bells.ts';

function doorbell(random: Random, { pitch }: Manner): Take {
  const note = (hertz: number): Float32Array =>
    ringing(
      1.9,
      doubled(random, [
        { hertz, level: 1, decay: 1.9 },
        { hertz: hertz * 2, level: 0.35, decay: 1.1 },
        { hertz: hertz * 3.01, level: 0.16, decay: 0.6 },
        { hertz: hertz * 4.2, level: 0.08, decay: 0.3 },
      ]),
      0.002,
    );
  // Ding, and a major third below it, dong.
  return together([note(659.3 * pitch)], [note(523.3 * pitch), 0.62]);
}

/** A hammer that flies between two cups: an old telephone, an alarm clock, a school. */
export function hammered(
  hertz: readonly [number, number],
  strokes: number,
): (random: Random, seconds: number) => Float32Array {
  return (random, seconds) => {
    const whole = new Float32Array(samplesIn(seconds + 0.9));
    const cups = hertz.map((base) =>
      ringing(
        0.8,
        doubled(random, [
          { hertz: base, level: 1, decay: 0.75 },
          { hertz: base * 2.43, level: 0.5, decay: 0.4 },
          { hertz: base * 4.2, level: 0.3, decay: 0.2 },
        ]),
      ),
    );
    for (let stroke = 0; stroke < seconds * strokes; stroke++) {
      addAt(
        whole,
        cups[stroke % 2] ?? whole,
        stroke / strokes + random.between(-0.002, 0.002),
        random.between(0.8, 1) * 0.35,
      );
    }
    return whole;
  };
}

function schoolBell(random: Random, { pitch, pace }: Manner): Take {
  return hammered([1480 * pitch, 1530 * pitch], 17 * pace)(random, 2.4);
}

function glassClink(random: Random, { pitch, weight }: Manner): Take {
  const base = random.between(2100, 2700) * pitch;
  const glass = (of: number): Mode[] => [
    { hertz: of, level: 1, decay: 0.9 },
    { hertz: of * 1.62, level: 0.6, decay: 0.6 },
    { hertz: of * 2.31, level: 0.5, decay: 0.4 },
    { hertz: of * 3.4, level: 0.3, decay: 0.2 },
  ];
  return together(
    [ringing(1, doubled(random, glass(base)))],
    [ringing(1, doubled(random, glass(base * 1.13)))],
    [clapper(random, 12_000), 0, 0.5 * weight],
  );
}

/** A music box: a comb of steel, and an invented tune that it mostly repeats. */
function musicBox(random: Random, { pitch }: Manner, turn: number): Take {
  const tune = [0, 4, 7, 12, 11, 7, 4, 7, 5, 9, 12, 9, 7, 4, 2, 7];
  const step = random.chance(0.15) ? random.pick([0, 4, 7, 12, 16] as const) : (tune[turn % tune.length] ?? 0);
  const hertz = 1046.5 * pitch * 2 ** (step / 12);
  const tine = (of: number): Float32Array =>
    ringing(1.6, [
      { hertz: of, level: 1, decay: 1.5 },
      { hertz: of * 2.01, level: 0.25, decay: 0.8 },
      { hertz: of * 6.27, level: 0.12, decay: 0.15 },
    ]);
  const bass = turn % 4 === 0 ? tine(hertz / 4) : new Float32Array(1);
  return together([tine(hertz)], [bass, 0, 0.6], [burst(0.004, whiteNoise(random), fallingIn(0.003)), 0, 0.15]);
}

/** Glitter: tiny bells that climb. */
export function sparkle(random: Random, { pitch, pace }: Manner): Take {
  const whole = new Float32Array(samplesIn(2.6));
  const scale = [0, 2, 4, 7, 9];
  for (let index = 0; index < 26; index++) {
    const degree = index + random.integer(-2, 2);
    const step = (scale[((degree % 5) + 5) % 5] ?? 0) + 12 * Math.floor(degree / 5);
    const hertz = 880 * pitch * 2 ** (step / 12);
    if (hertz > 15_000 || hertz < 300) continue;
    const chime = ringing(0.9, [
      { hertz, level: 1, decay: 0.8 },
      { hertz: hertz * 2.76, level: 0.3, decay: 0.3 },
    ]);
    addAt(whole, chime, (0.045 * index + random.between(0, 0.03)) / pace, 0.3 * random.between(0.4, 1));
  }
  const air = tone(
    1.4,
    (at) => 3000 + 3500 * at,
    (at) => 0.03 * swelling(0.9, 0.5)(at),
  );
  return together([whole], [air]);
}

/** A bicycle bell, a reception bell, a lift chime. */
function chimeTone(random: Random, { pitch }: Manner): Take {
  const hertz = 1318.5 * pitch;
  return ringing(
    1.6,
    doubled(random, [
      { hertz, level: 1, decay: 1.6 },
      { hertz: hertz * 2, level: 0.3, decay: 0.9 },
      { hertz: hertz * 3, level: 0.12, decay: 0.5 },
    ]),
    0.003,
  );
}

function glitter(random: Random, { pitch, weight }: Manner): Bed {
  return swarm(
    random,
    () => 7 * weight,
    () => {
      const hertz = random.between(1800, 6500) * pitch;
      const chime = ringing(0.45, [{ hertz, level: 0.25 * random.next() ** 1.5, decay: 0.45 }]);
      return chime;
    },
  );
}

export const CHIMES: readonly Thing[] = [
  {
    names: ['doorbell', 'door bell', 'ding dong'],
    strike: doorbell,
    rhythm: { every: [3, 4], isFixed: true },
    naturalSeconds: 2.4,
    room: 'room',
    wet: 0.3,
  },
  {
    names: ['school bell', 'fire bell', 'bike bell', 'bicycle bell'],
    strike: schoolBell,
    rhythm: { every: [3.6, 4.2], isFixed: true },
    naturalSeconds: 3,
    room: 'hall',
  },
  {
    names: ['clink', 'glass clink', 'glasses clinking', 'toast', 'wine glass', 'glasses'],
    strike: glassClink,
    rhythm: { every: [1.1, 1.9] },
    naturalSeconds: 1.6,
    room: 'room',
  },
  {
    names: ['music box', 'lullaby'],
    strike: musicBox,
    rhythm: { every: [0.27, 0.31], isFixed: true },
    naturalSeconds: 6,
    room: 'hall',
    wet: 0.3,
  },
  {
    names: ['elevator', 'elevator ding', 'ding', 'reception bell', 'desk bell', 'service bell'],
    strike: chimeTone,
    rhythm: { every: [2, 3], isFixed: true },
    naturalSeconds: 2,
    room: 'room',
    wet: 0.3,
  },
  {
    names: [
      'magic',
      'sparkle',
      'sparkling',
      'fairy',
      'magic spell',
      'spell',
      'wand',
      'glitter',
      'twinkle',
      'twinkling',
      'shimmer',
      'pixie dust',
    ],
    strike: sparkle,
    bed: glitter,
    bedLevel: -8,
    rhythm: { every: [2.4, 3.4] },
    spread: 0.5,
    naturalSeconds: 3,
    room: 'space',
    wet: 0.4,
  },
];

/** Wind, thunder, fire and earthquakes. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, highPass, lowPass } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  addAt,
  burst,
  driven,
  fallingIn,
  ringing,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { beds, pooled, swarm } from './grains.ts';
import { CONTROLS_A_SECOND, hiss, steadyHiss } from './hiss.ts';

const RATE = SAMPLE_RATE;

/** Gusts: long calm, then a rise; 0 to 1. */
function gusts(random: Random, pace: number): () => number {
  const [slow, quick] = [
    wander(random.fork('slow'), 0.16 * pace, CONTROLS_A_SECOND),
    wander(random.fork('quick'), 0.9 * pace, CONTROLS_A_SECOND),
  ];
  return () => Math.min(1, Math.max(0.18, 0.52 + 0.4 * slow() + 0.16 * quick()));
}

/** `whistle` 0 open land to 1 round the corners of a house. */
function wind(whistle: number): (random: Random, manner: Manner) => Bed {
  return (random, { weight, pace, pitch }) =>
    beds(
      hiss(random.fork('air'), pinkNoise, (own) => {
        // Both sides share their gusts, and differ in colour, so that the wind seems to pass.
        const gust = gusts(random.fork('gusts'), pace);
        const colour = wander(own, 0.5, CONTROLS_A_SECOND);
        return () => {
          const force = gust() * (0.8 + 0.2 * weight);
          return {
            filters: [
              bandPass(RATE, (170 + 620 * force * force) * pitch * (1 + 0.2 * colour()), 0.75),
              lowPass(RATE, 1800 + 3500 * force),
            ],
            level: 0.5 * force ** 1.6 * weight,
          };
        };
      }),
      hiss(random.fork('whistle'), pinkNoise, (own) => {
        const gust = gusts(random.fork('gusts'), pace);
        const glide = wander(own, 0.45, CONTROLS_A_SECOND);
        return () => {
          const force = gust();
          return {
            filters: [
              bandPass(RATE, (430 + 420 * force + 90 * glide()) * pitch, 22),
              bandPass(RATE, (430 + 420 * force + 90 * glide()) * pitch, 9),
            ],
            level: 34 * whistle * Math.max(0, force - 0.22) ** 1.5 * weight,
          };
        };
      }),
    );
}

/** Leaves in the wind. */
export function rustle(random: Random, { weight, pace }: Manner): Bed {
  return hiss(random, whiteNoise, (own) => {
    const gust = gusts(random.fork('gusts'), pace * 1.4);
    const flicker = wander(own, 14, CONTROLS_A_SECOND);
    return () => ({
      filters: [highPass(RATE, 1900), lowPass(RATE, 7800)],
      level: 0.13 * weight * gust() ** 2 * (1 + 0.5 * flicker()),
    });
  });
}

/** A crack, or only a rumble if it is far, and the long echo from all directions. */
function thunder(random: Random, { weight }: Manner): Take {
  const seconds = random.between(5.5, 8);
  const claps = Array.from({ length: random.integer(4, 7) }, (_, index) =>
    index === 0 ? 0 : random.next() ** 1.5 * 3.2,
  );
  const sides = [0, 1].map((side) => {
    const own = random.fork(`side ${side}`);
    const roll = wander(own, 5, RATE);
    const fall = struck(0.03, seconds * 0.95);
    const rumble = burst(seconds, brownNoise(own), (at) => fall(at) * (0.7 + 0.45 * roll()) * 2.6);
    swept(
      rumble,
      (hertz) => lowPass(RATE, hertz),
      (at) => 70 + 620 * Math.exp(-at * 0.85),
    );
    const whole = together([rumble, 0, 1.2]);
    for (const [index, at] of claps.entries()) {
      const bright = index === 0 ? 6500 : 900 + 1600 * own.next();
      const length = index === 0 ? 1.5 : 1.1;
      const clap = burst(length, whiteNoise(own), struck(index === 0 ? 0.004 : 0.05, length * 0.8));
      swept(
        clap,
        (hertz) => lowPass(RATE, hertz),
        (position) => 120 + bright * Math.exp(-position * 7),
      );
      addAt(whole, clap, at + side * own.between(0, 0.03), (index === 0 ? 1.1 : 0.55) * weight);
      // The tearing sound before it: the near end of the lightning.
      if (index === 0) {
        for (let tear = 0; tear < 7; tear++) {
          const snap = filtered(burst(0.05, whiteNoise(own), struck(0.0008, 0.04)), highPass(RATE, 700));
          addAt(whole, snap, own.next() * 0.22, 0.9 * own.next() * weight);
        }
      }
    }
    return driven(whole, 1.3);
  });
  const length = Math.min(...sides.map((side) => side.length));
  return [sides[0]?.subarray(0, length) ?? new Float32Array(1), sides[1]?.subarray(0, length) ?? new Float32Array(1)];
}

/** Wood that burns: snaps that come in clusters, a hiss of sap, and the flames' own flutter. */
function fire(random: Random, { weight, pace }: Manner): Bed {
  const noise = whiteNoise(random.fork('snap'));
  const busy = wander(random.fork('busy'), 1.7, 120);
  const snap = pooled(random.fork('pool'), 240, () => {
    const size = Math.min(-Math.log(1 - random.next()) * 0.22, 1.2);
    const hertz = random.between(900, 5200) / (1 + size);
    const crack = filtered(
      burst(0.03, noise, struck(0.0003, random.between(0.004, 0.022))),
      highPass(RATE, hertz * 0.5),
    );
    return together(
      [crack, 0, size * 1.3],
      [
        ringing(0.05, [
          { hertz, level: 1, decay: 0.02 },
          { hertz: hertz * 1.7, level: 0.5, decay: 0.012 },
        ]),
        0,
        size * 0.7,
      ],
    );
  });
  return beds(
    swarm(random.fork('snaps'), () => 26 * pace * Math.max(0.15, 1 + 1.3 * busy()) * weight, snap, 0.8),
    hiss(random.fork('flames'), brownNoise, (own) => {
      const flutter = wander(own, 7, CONTROLS_A_SECOND);
      return () => ({
        filters: [bandPass(RATE, 150, 0.5), lowPass(RATE, 700)],
        level: 0.34 * weight * (1 + 0.55 * flutter()),
      });
    }),
    hiss(random.fork('sap'), whiteNoise, (own) => {
      const swell = wander(own, 0.5, CONTROLS_A_SECOND);
      return () => ({ filters: [bandPass(RATE, 5200, 0.8)], level: 0.02 * Math.max(0.1, 0.5 + swell()) });
    }),
  );
}

function earthquake(random: Random, { weight }: Manner): Bed {
  const stone = pooled(random.fork('pool'), 80, () => {
    const hertz = random.between(120, 900);
    return ringing(0.12, [
      { hertz, level: 1, decay: 0.06 },
      { hertz: hertz * 1.6, level: 0.6, decay: 0.04 },
    ]).map((sample) => sample * random.next() ** 2);
  });
  return beds(
    hiss(random.fork('deep'), brownNoise, (own) => {
      const shake = wander(own, 4.5, CONTROLS_A_SECOND);
      return () => ({ filters: [lowPass(RATE, 95)], level: 2.2 * weight * (1 + 0.6 * shake()) });
    }),
    steadyHiss(random.fork('grind'), brownNoise, [bandPass(RATE, 260, 0.7)], 0.35),
    swarm(random.fork('stones'), () => 24, stone),
  );
}

/** A flag, a sail, a sheet in the wind. */
function flapping(random: Random, { pace }: Manner): Take {
  const seconds = random.between(0.12, 0.24) / pace;
  const flap = burst(seconds, pinkNoise(random), struck(0.012, seconds));
  return filtered(flap, bandPass(RATE, random.between(350, 900), 0.7));
}

/** Fireworks: the rocket's whistle, the burst high above, the falling crackle. */
function firework(random: Random, { weight }: Manner): Take {
  const rise = random.between(0.7, 1.1);
  const whistle = tone(
    rise,
    (at) => 900 + 1500 * (at / rise) ** 0.6,
    (at) => 0.16 * swelling(rise * 0.8, rise * 0.2)(at),
  );
  const boom = burst(2.2, brownNoise(random), struck(0.004, 1.8));
  swept(
    boom,
    (hertz) => lowPass(RATE, hertz),
    (at) => 90 + 2600 * Math.exp(-at * 9),
  );
  const whole = together(
    [whistle],
    [boom, rise, 2.4 * weight],
    [tone(0.5, (at) => 75 - 60 * at, struck(0.004, 0.5)), rise, 0.8],
    [new Float32Array(1), rise + 3],
  );
  for (let count = 0; count < 110; count++) {
    const spark = filtered(burst(0.012, whiteNoise(random), fallingIn(0.01)), highPass(RATE, 2500));
    addAt(whole, spark, rise + 0.35 + 1.9 * random.next() ** 1.4, 0.3 * random.next());
  }
  return whole;
}

export const WEATHER: readonly Thing[] = [
  {
    names: ['wind', 'windy', 'breeze', 'gust', 'gale', 'draft', 'air'],
    bed: wind(0.05),
    spread: 1,
    naturalSeconds: 6,
    wet: 0.05,
  },
  {
    names: [
      'howling wind',
      'blizzard',
      'snowstorm',
      'whistling wind',
      'arctic wind',
      'hurricane',
      'tornado',
      'desert wind',
      'sandstorm',
    ],
    bed: wind(0.7),
    spread: 1,
    naturalSeconds: 6,
    wet: 0.1,
  },
  {
    names: ['rustling', 'rustle', 'leaves rustling', 'rustling leaves', 'wind in the trees', 'tree', 'bush'],
    bed: rustle,
    spread: 1,
    naturalSeconds: 5,
    wet: 0.05,
  },
  {
    names: ['thunder', 'thunderclap', 'lightning', 'thunderbolt'],
    strike: thunder,
    rhythm: { every: [5, 9], first: 0.15 },
    naturalSeconds: 6,
    wet: 0.3,
    spread: 0.6,
    room: 'canyon',
  },
  {
    names: [
      'fire',
      'roaring fire',
      'campfire',
      'fireplace',
      'bonfire',
      'flame',
      'burning',
      'crackling',
      'embers',
      'torch',
    ],
    bed: fire,
    spread: 0.6,
    naturalSeconds: 6,
    wet: 0.06,
  },
  {
    names: ['earthquake', 'avalanche', 'rockslide', 'landslide', 'rumble', 'rumbling', 'volcano', 'tremor'],
    bed: earthquake,
    spread: 1,
    naturalSeconds: 5,
    wet: 0.2,
  },
  {
    names: ['flag', 'flapping', 'wings flapping', 'wing'],
    strike: flapping,
    rhythm: { every: [0.12, 0.4] },
    naturalSeconds: 3,
  },
  {
    names: ['firework', 'fireworks', 'firecracker'],
    strike: firework,
    rhythm: { every: [1.1, 2.6] },
    spread: 0.8,
    naturalSeconds: 5,
    wet: 0.35,
    room: 'canyon',
  },
];

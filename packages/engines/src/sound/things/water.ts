/** Water: rain on what it falls on, the sea, brooks and falls, drops and bubbles. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, highPass, lowPass } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  burst,
  fallingIn,
  ringing,
  samplesIn,
  shaped,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Bed, Manner, Surface, Take, Thing } from '../thing.ts';
import { beds, pooled, swarm } from './grains.ts';
import { CONTROLS_A_SECOND, hiss, steadyHiss } from './hiss.ts';

const RATE = SAMPLE_RATE;

/** Few large among many small: most drops are barely audible. */
function heavyTailed(random: Random): number {
  return Math.min(-Math.log(1 - random.next()) * 0.35, 2) ** 1.5;
}

/** A bubble of air that closes under water: a tone that rises as it dies (van den Doel, 2005). */
export function bubble(random: Random, hertz: number, level: number): Float32Array {
  const decay = Math.min(0.35, 26 / hertz + 0.015) * random.between(0.7, 1.3);
  const rise = random.between(0.1, 1.6) / decay;
  const fall = fallingIn(decay);
  return tone(
    Math.min(decay, 0.45),
    (at) => hertz * (1 + rise * at * 0.25),
    (at) => level * fall(at) * Math.min(1, at * 900),
  );
}

/** The sound of one raindrop on each surface: Hz of its body, seconds it rings, how much of it is noise. */
const DROPS: Readonly<
  Record<Surface | 'open', { readonly hertz: readonly [number, number]; readonly ring: number; readonly noise: number }>
> = {
  open: { hertz: [1800, 7500], ring: 0.006, noise: 0.75 },
  wood: { hertz: [250, 900], ring: 0.03, noise: 0.35 },
  stone: { hertz: [1500, 5000], ring: 0.005, noise: 0.8 },
  gravel: { hertz: [1500, 5000], ring: 0.005, noise: 0.8 },
  snow: { hertz: [500, 1500], ring: 0.006, noise: 0.9 },
  grass: { hertz: [900, 3500], ring: 0.007, noise: 0.9 },
  leaves: { hertz: [700, 2600], ring: 0.012, noise: 0.8 },
  metal: { hertz: [700, 4200], ring: 0.09, noise: 0.25 },
  water: { hertz: [700, 3200], ring: 0.05, noise: 0.2 },
  sand: { hertz: [900, 3000], ring: 0.005, noise: 0.9 },
  carpet: { hertz: [300, 900], ring: 0.008, noise: 0.9 },
  glass: { hertz: [1900, 5200], ring: 0.022, noise: 0.4 },
  roof: { hertz: [350, 1800], ring: 0.05, noise: 0.4 },
  cloth: { hertz: [260, 800], ring: 0.016, noise: 0.7 },
};

/** Rain: a veil of far drops, near ones that are heard individually, and occasional large ones. */
export function rain(random: Random, { weight, pace, surface }: Manner): Bed {
  const drop = DROPS[surface ?? 'open'];
  const noise = whiteNoise(random.fork('drops'));
  const gust = wander(random.fork('gust'), 0.15, 60);
  const near = (): Float32Array => {
    const hertz = random.between(...drop.hertz);
    const level = heavyTailed(random) * (0.5 + 0.5 * weight);
    const ring = drop.ring * random.between(0.6, 1.6);
    const splash = filtered(burst(0.012, noise, struck(0.0006, 0.009)), bandPass(RATE, hertz * 1.3, 1));
    return together(
      [splash, 0, level * drop.noise * 2.2],
      [
        ringing(Math.min(ring * 2, 0.3), [
          { hertz, level: 1, decay: ring * 2 },
          { hertz: hertz * 1.53, level: 0.4, decay: ring },
        ]),
        0,
        level * (1 - drop.noise),
      ],
    );
  };
  const veil = surface === undefined ? 0.075 : 0.045;
  const layers: Bed[] = [
    swarm(
      random.fork('near'),
      () => (70 + 260 * weight * weight) * (1 + 0.3 * gust()) * pace,
      pooled(random.fork('pool'), 320, near),
    ),
    hiss(random.fork('veil'), pinkNoise, (own) => {
      const swell = wander(own, 0.22, CONTROLS_A_SECOND);
      return () => ({
        filters: [highPass(RATE, 550), lowPass(RATE, 7500 + 2500 * weight)],
        level: veil * weight * (1 + 0.22 * swell()) * 3,
      });
    }),
  ];
  if (weight > 0.8)
    layers.push(steadyHiss(random.fork('ground'), pinkNoise, [bandPass(RATE, 320, 0.6)], 0.14 * (weight - 0.6)));
  const puddles = surface === undefined || surface === 'water' ? 5 * weight : 1.5;
  layers.push(
    swarm(
      random.fork('large'),
      () => puddles,
      () => bubble(random, random.between(500, 2200), 0.12 * random.between(0.4, 1)),
    ),
  );
  return beds(...layers);
}

/** Bubbles by the hundred over a soft rush. `size` 1 a brook, 2.5 a river, 0.6 a trickle. */
function stream(size: number): (random: Random, manner: Manner) => Bed {
  return (random, { weight, pace }) => {
    const flow = wander(random.fork('flow'), 0.6, 80);
    const lowest = 420 / size;
    return beds(
      swarm(
        random.fork('bubbles'),
        () => 85 * pace * (1 + 0.4 * flow()),
        () => {
          const hertz = lowest * 2 ** random.between(0, 3.1);
          return bubble(random, hertz, 0.42 * random.next() ** 1.6);
        },
      ),
      hiss(random.fork('rush'), pinkNoise, (own) => {
        const [level, colour] = [wander(own, 0.7, CONTROLS_A_SECOND), wander(own, 0.9, CONTROLS_A_SECOND)];
        return () => ({
          filters: [bandPass(RATE, (1100 / Math.sqrt(size)) * (1 + 0.25 * colour()), 0.5)],
          level: 0.07 * size * weight * (1 + 0.25 * level()),
        });
      }),
    );
  };
}

function waterfall(random: Random, { weight }: Manner): Bed {
  return beds(
    hiss(random.fork('fall'), whiteNoise, (own) => {
      const level = wander(own, 0.8, CONTROLS_A_SECOND);
      return () => ({ filters: [lowPass(RATE, 3800), highPass(RATE, 180)], level: 0.3 * (1 + 0.1 * level()) });
    }),
    steadyHiss(random.fork('depth'), brownNoise, [lowPass(RATE, 160)], 0.4 * weight),
    swarm(
      random.fork('splash'),
      () => 60,
      () => bubble(random, random.between(300, 1800), 0.2 * random.next()),
    ),
  );
}

/** One wave: it builds up far out, breaks, and runs back over the beach with a fizz. */
function wave(random: Random, { weight, pace }: Manner): Take {
  const rise = random.between(2.2, 3.4) / pace;
  const fall = random.between(4.5, 6.5) / pace;
  const from = random.next();
  const sides = [0, 1].map((side) => {
    const own = random.fork(`side ${side} ${from}`);
    const swell = swelling(rise, fall);
    const seconds = rise + fall;
    // It breaks along the beach: one side after the other.
    const late = 0.35 * (side === 0 ? from : 1 - from);
    const body = burst(seconds, pinkNoise(own), (at) => swell(at - late) ** 1.7);
    swept(
      body,
      (hertz) => lowPass(RATE, hertz),
      (at) => 260 + 5200 * swell(at - late - 0.2) ** 2,
    );
    const fizz = burst(
      seconds,
      whiteNoise(own),
      (at) => 0.22 * swelling(rise * 0.6, fall * 0.9)(at - late - rise * 0.6),
    );
    filtered(fizz, highPass(RATE, 2600), lowPass(RATE, 9000));
    const grain = wander(own, 24, RATE);
    shaped(fizz, () => 0.65 + 0.35 * grain());
    const thump = filtered(
      burst(seconds, brownNoise(own), (at) => swelling(0.5, 1.6)(at - rise + 0.4) * 1.6 * weight),
      lowPass(RATE, 110),
    );
    return together([body, 0, 1.1], [fizz], [thump]);
  });
  const length = Math.min(...sides.map((side) => side.length));
  return [sides[0]?.subarray(0, length) ?? new Float32Array(1), sides[1]?.subarray(0, length) ?? new Float32Array(1)];
}

/** The sea behind the waves. */
function farSea(random: Random, { weight }: Manner): Bed {
  return hiss(random, pinkNoise, (own) => {
    const [level, colour] = [wander(own, 0.25, CONTROLS_A_SECOND), wander(own, 0.2, CONTROLS_A_SECOND)];
    return () => ({
      filters: [lowPass(RATE, 620 * (1 + 0.35 * colour())), highPass(RATE, 60)],
      level: 0.28 * weight * (1 + 0.5 * level()),
    });
  });
}

/** A drop into still water: the click of its landing, then the bubble that it pulled under water. */
function drip(random: Random, { pitch, weight }: Manner): Take {
  const hertz = random.between(850, 1900) * pitch;
  const click = filtered(burst(0.004, whiteNoise(random), fallingIn(0.004)), highPass(RATE, 2000));
  const ring = bubble(random, hertz, 1);
  const second = bubble(random, hertz * random.between(1.2, 1.7), 0.35);
  return together([click, 0, 0.07], [ring, 0.018, weight], [second, random.between(0.06, 0.12)]);
}

function splash(random: Random, { weight }: Manner): Take {
  const noise = filtered(burst(1.1, whiteNoise(random), struck(0.012, 0.9)), highPass(RATE, 350));
  swept(
    noise,
    (hertz) => lowPass(RATE, hertz),
    (at) => 900 + 8000 * Math.exp(-at * 6),
  );
  const result = together([noise, 0, 0.9], [tone(0.25, (at) => 110 - 160 * at, struck(0.004, 0.25)), 0, 0.8 * weight]);
  const long = new Float32Array(samplesIn(1.8));
  long.set(result);
  for (let count = 0; count < 34; count++) {
    const ring = bubble(random, random.between(300, 1700), random.between(0.05, 0.25));
    const at = 0.08 + 1.3 * random.next() ** 1.6;
    together([ring]).forEach((sample, index) => {
      const position = Math.round(at * RATE) + index;
      if (position < long.length) long[position] = (long[position] ?? 0) + sample;
    });
  }
  return long;
}

/** The sound that a diver hears. */
export function underwater(random: Random, { weight }: Manner): Bed {
  const busy = wander(random.fork('busy'), 0.5, 40);
  return beds(
    hiss(random.fork('deep'), brownNoise, (own) => {
      const colour = wander(own, 0.3, CONTROLS_A_SECOND);
      return () => ({ filters: [lowPass(RATE, 240 * (1 + 0.4 * colour()))], level: 0.9 * weight });
    }),
    swarm(
      random.fork('bubbles'),
      () => 7 + 9 * Math.max(0, busy()),
      () => bubble(random, random.between(160, 720), 0.5 * random.next() ** 1.5),
    ),
  );
}

function bubbling(random: Random, { pace, pitch }: Manner): Bed {
  const busy = wander(random.fork('busy'), 1.2, 40);
  return swarm(
    random,
    () => 26 * pace * (1 + 0.7 * busy()),
    () => bubble(random, random.between(220, 1100) * pitch, 0.6 * random.next() ** 1.4),
  );
}

export const WATER: readonly Thing[] = [
  {
    names: ['rain', 'pouring rain', 'rainfall', 'drizzle', 'shower', 'downpour', 'raindrop', 'rainstorm', 'hail'],
    bed: rain,
    spread: 1,
    naturalSeconds: 6,
    wet: 0.08,
  },
  {
    names: ['stream', 'brook', 'creek', 'spring water', 'fountain', 'babbling'],
    bed: stream(1),
    spread: 1,
    naturalSeconds: 6,
    wet: 0.08,
  },
  { names: ['river'], bed: stream(2.4), spread: 1, naturalSeconds: 6, wet: 0.08 },
  {
    names: ['pouring', 'pour', 'faucet', 'trickle', 'running water', 'water'],
    bed: stream(0.65),
    spread: 0.4,
    naturalSeconds: 4,
    wet: 0.1,
  },
  { names: ['waterfall', 'cascade', 'dam'], bed: waterfall, spread: 1, naturalSeconds: 6, wet: 0.1 },
  {
    names: ['wave', 'surf', 'ocean', 'sea', 'beach', 'shore', 'seaside', 'coast', 'tide'],
    bed: farSea,
    strike: wave,
    rhythm: { every: [5.5, 8.5], first: 0 },
    bedLevel: -9,
    spread: 0.9,
    naturalSeconds: 9,
    wet: 0.05,
  },
  {
    names: ['drip', 'dripping', 'drop', 'droplet', 'water drop', 'leak'],
    strike: drip,
    rhythm: { every: [0.7, 1.6] },
    room: 'cave',
    wet: 0.55,
    naturalSeconds: 4,
  },
  { names: ['splash', 'plunge', 'dive'], strike: splash, rhythm: { every: [2.6, 4] }, naturalSeconds: 2.5 },
  {
    names: ['bubble', 'bubbling', 'boiling', 'boil', 'gurgle', 'potion', 'cauldron', 'aquarium'],
    bed: bubbling,
    spread: 0.5,
  },
  {
    names: ['under water', 'submarine', 'diver', 'deep sea'],
    bed: underwater,
    spread: 1,
    naturalSeconds: 6,
    wet: 0.3,
    room: 'tunnel',
  },
];

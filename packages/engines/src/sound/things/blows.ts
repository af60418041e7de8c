/** Blows: a body of wood, metal, glass or stone that is hit, and doors, hammers, blades and coins that hit. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, highPass, lowPass } from '../signal/biquad.ts';
import { brownNoise, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  driven,
  fallingIn,
  gliding,
  ringing,
  samplesIn,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Mode } from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';

const RATE = SAMPLE_RATE;

/** The response of materials to a blow: modes relative to the first, ring in seconds, how dull the blow is. */
const MATERIALS: Readonly<
  Record<
    'wood' | 'metal' | 'glass' | 'stone',
    { readonly ratios: readonly number[]; readonly ring: number; readonly blowHertz: number }
  >
> = {
  wood: { ratios: [1, 1.82, 2.64, 3.9, 5.1], ring: 0.11, blowHertz: 2400 },
  metal: { ratios: [1, 1.59, 2.14, 2.65, 3.16, 4.23, 5.4, 6.8], ring: 1.1, blowHertz: 7000 },
  glass: { ratios: [1, 1.71, 2.4, 3.32, 4.5], ring: 0.5, blowHertz: 9000 },
  stone: { ratios: [1, 1.6, 2.3, 3.1], ring: 0.05, blowHertz: 3500 },
};

/**
 * A blow on a body.
 *
 * @param hertz its lowest mode.
 * @param held how long it may ring: 1 for a freely hanging body, 0.05 for one that is screwed into a case.
 */
export function blow(
  random: Random,
  material: keyof typeof MATERIALS,
  hertz: number,
  weight: number,
  held: number = 1,
): Float32Array {
  const { ratios, ring: free, blowHertz } = MATERIALS[material];
  const ring = free * held;
  const modes: Mode[] = ratios.map((ratio, index) => ({
    hertz: about(random, hertz * ratio, 0.025),
    level: random.between(0.5, 1) / (1 + 0.5 * index),
    decay: (ring * random.between(0.7, 1.2)) / (1 + 0.28 * index),
  }));
  const contact = filtered(
    burst(0.02, whiteNoise(random), struck(0.0004, 0.012)),
    lowPass(RATE, blowHertz * Math.sqrt(weight)),
  );
  return together([ringing(Math.max(ring * 1.1, 0.1), modes)], [contact, 0, 0.9]);
}

function knock(random: Random, { weight, pitch, surface }: Manner): Take {
  const material = surface === 'metal' || surface === 'glass' || surface === 'stone' ? surface : 'wood';
  const knuckle = blow(random, material, about(random, (material === 'glass' ? 1100 : 175) * pitch, 0.03), weight);
  const panel = tone(0.16, 92 * pitch, struck(0.002, 0.14));
  return together([knuckle], [panel, 0, material === 'wood' ? 0.9 * weight : 0.2]);
}

/** A heavy blow as in films. */
function thud(random: Random, { weight, pitch, surface }: Manner): Take {
  const material = surface === 'metal' || surface === 'glass' || surface === 'wood' ? surface : 'stone';
  const hit = blow(random, material, { wood: 160, metal: 240, glass: 900, stone: 210 }[material] * pitch, weight);
  const body = tone(0.4, gliding(110 * pitch, 42 * pitch, 0.25), struck(0.002, 0.36));
  const dust = filtered(burst(0.35, brownNoise(random), struck(0.004, 0.3)), lowPass(RATE, 900));
  return driven(together([hit, 0, 0.8], [body, 0, 1.2 * weight], [dust, 0, 1]), 1.6);
}

function clang(hertz: number, ring: number): (random: Random, manner: Manner) => Take {
  return (random, { pitch, weight }) => {
    const base = about(random, hertz * pitch, 0.05);
    const modes = Array.from({ length: 14 }, (_, index) => ({
      hertz: base * (1 + index * 0.83 + random.between(-0.18, 0.18)),
      level: random.between(0.35, 1) / (1 + index * 0.12),
      decay: (ring * random.between(0.6, 1.1)) / (1 + index * 0.14),
    }));
    const strike = filtered(burst(0.03, whiteNoise(random), struck(0.0003, 0.02)), highPass(RATE, 1200));
    return together([ringing(ring, modes)], [strike, 0, 1.4 * weight]);
  };
}

/** A blade that slides along another before it rings. */
function sword(random: Random, manner: Manner): Take {
  const slide = burst(0.22, whiteNoise(random), swelling(0.15, 0.07));
  swept(
    slide,
    (hertz) => bandPass(RATE, hertz, 3),
    (at) => 3200 + 14_000 * at,
  );
  const ring = clang(980, 1.5)(random, manner);
  return random.chance(0.4) ? together([slide, 0, 0.9], [ring as Float32Array, 0.18, 0.8]) : ring;
}

function hammer(random: Random, { pitch, weight, surface }: Manner): Take {
  if (surface === 'wood')
    return together([blow(random, 'wood', 240 * pitch, weight)], [blow(random, 'metal', 2600, 0.5), 0, 0.12]);
  return clang(620, 0.55)(random, { pitch, weight, pace: 1, surface, course: undefined, seconds: 1 });
}

/** A coin lands, bounces faster and faster, and rings on its rim. */
function coin(random: Random, { pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(1.7));
  const base = random.between(3100, 3900) * pitch;
  let [at, gap, level] = [0, 0.24, 1];
  for (let bounce = 0; bounce < 14; bounce++) {
    const ring = ringing(0.35, [
      { hertz: base, level: 1, decay: 0.32 },
      { hertz: base * 1.62, level: 0.8, decay: 0.26 },
      { hertz: base * 2.41, level: 0.5, decay: 0.18 },
      { hertz: base * 3.3, level: 0.3, decay: 0.1 },
    ]);
    addAt(whole, ring, at, level * 0.5 * random.between(0.8, 1));
    at += gap;
    gap *= 0.74;
    level *= 0.82;
  }
  return whole;
}

function keys(random: Random, { pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(0.9));
  for (let index = 0; index < 18; index++) {
    const hertz = random.between(2600, 8200) * pitch;
    addAt(
      whole,
      ringing(0.2, [
        { hertz, level: 1, decay: 0.16 },
        { hertz: hertz * 1.39, level: 0.7, decay: 0.1 },
        { hertz: hertz * 1.93, level: 0.4, decay: 0.06 },
      ]),
      random.next() * 0.6,
      0.3 * random.next(),
    );
  }
  return whole;
}

function chain(random: Random, { pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(1));
  for (let index = 0; index < 22; index++) {
    const hertz = random.between(900, 3400) * pitch;
    addAt(
      whole,
      ringing(0.14, [
        { hertz, level: 1, decay: 0.1 },
        { hertz: hertz * 1.5, level: 0.8, decay: 0.08 },
        { hertz: hertz * 2.3, level: 0.5, decay: 0.05 },
      ]),
      random.next() * 0.8,
      0.35 * random.next(),
    );
  }
  return whole;
}

/** A fist, as in films: cloth, flesh and a slap. */
function punch(random: Random, { weight, pitch }: Manner): Take {
  const slap = filtered(burst(0.07, whiteNoise(random), struck(0.001, 0.05)), bandPass(RATE, 1700 * pitch, 0.7));
  const body = tone(0.18, gliding(160 * pitch, 58, 0.1), struck(0.002, 0.16));
  return driven(
    together(
      [slap, 0, 1.4],
      [body, 0, 1.1 * weight],
      [filtered(burst(0.15, brownNoise(random), fallingIn(0.13)), lowPass(RATE, 500)), 0, 1.4],
    ),
    1.8,
  );
}

export const BLOWS: readonly Thing[] = [
  {
    names: ['knock', 'knocking', 'door knock', 'knock on the door', 'knocking on a door', 'knock on a door', 'rap'],
    strike: knock,
    rhythm: { every: [1.8, 2.6], group: [3, 3], gap: [0.21, 0.25], isFixed: true },
    naturalSeconds: 1.6,
    room: 'room',
    wet: 0.25,
  },
  {
    names: ['thud', 'impact', 'hit', 'bang', 'crash', 'body fall', 'falling object', 'collision', 'thump'],
    strike: thud,
    rhythm: { every: [1.6, 2.6] },
    naturalSeconds: 1.5,
    wet: 0.3,
    room: 'hall',
  },
  {
    names: [
      'metal clang',
      'clang',
      'metal hit',
      'metal impact',
      'pan',
      'pot',
      'metal pipe',
      'pipe falling',
      'metal bar',
    ],
    strike: clang(430, 1.6),
    rhythm: { every: [1.4, 2.2] },
    naturalSeconds: 2,
    wet: 0.35,
    room: 'hall',
  },
  {
    names: [
      'sword',
      'blade',
      'sword clash',
      'swords clashing',
      'sword fight',
      'swordfight',
      'knife',
      'katana',
      'dagger',
    ],
    strike: sword,
    rhythm: { every: [0.5, 1.2] },
    naturalSeconds: 3,
    wet: 0.3,
    room: 'hall',
  },
  {
    names: ['hammer', 'hammering', 'anvil', 'blacksmith', 'nail', 'forge'],
    strike: hammer,
    rhythm: { every: [0.55, 0.68], isFixed: true },
    naturalSeconds: 3,
    wet: 0.3,
    room: 'hall',
  },
  {
    names: ['coin', 'coin drop', 'coin flip', 'coins', 'money'],
    strike: coin,
    rhythm: { every: [1.2, 2.2] },
    naturalSeconds: 1.8,
    room: 'room',
    wet: 0.2,
  },
  {
    names: ['key', 'keys jingling', 'keyring'],
    strike: keys,
    rhythm: { every: [0.5, 1.1] },
    naturalSeconds: 2,
    room: 'room',
  },
  {
    names: ['chain', 'chains', 'shackles', 'rattle', 'rattling'],
    strike: chain,
    rhythm: { every: [0.6, 1.2] },
    naturalSeconds: 2.5,
    wet: 0.3,
    room: 'cave',
  },
  {
    names: ['punch', 'slap', 'kick hit', 'fight', 'fist', 'boxing', 'smack'],
    strike: punch,
    rhythm: { every: [0.5, 1.1] },
    naturalSeconds: 1.2,
    room: 'room',
  },
];

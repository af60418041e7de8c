/** Sounds of the meadow and the pond: crickets, cicadas, bees, gnats and frogs. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, highPass } from '../signal/biquad.ts';
import { wander } from '../signal/noise.ts';
import { SAMPLE_RATE, buzz, through, together } from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { beds } from './grains.ts';
import { cry, steady } from './throat.ts';

const RATE = SAMPLE_RATE;

/** One cricket: three or four strokes of its wings, repeated, on one high tone of its own. */
function cricket(random: Random, pace: number, position: number): Bed {
  const hertz = random.between(3900, 5100);
  const rate = random.between(1.7, 3) * pace;
  const strokes = random.integer(3, 4);
  const level = random.between(0.25, 1) ** 1.5;
  const warmth = wander(random.fork('warmth'), 0.2, RATE);
  let [phase, at] = [0, random.next()];
  const [gainLeft, gainRight] = [Math.cos((position * Math.PI) / 2), Math.sin((position * Math.PI) / 2)];
  return (left, right) => {
    for (let index = 0; index < left.length; index++) {
      at += (rate * (1 + 0.06 * warmth())) / RATE;
      at -= Math.floor(at);
      // Strokes of 16 ms, 24 ms apart, whatever the pace of the chirps.
      const stroke = at / rate / 0.024;
      const within = stroke - Math.floor(stroke);
      phase += hertz / RATE;
      phase -= Math.floor(phase);
      if (stroke >= strokes || within > 0.7) continue;
      const sample = Math.sin(2 * Math.PI * phase) * Math.sin((Math.PI * within) / 0.7) * level * 0.3;
      left[index] = (left[index] ?? 0) + sample * gainLeft;
      right[index] = (right[index] ?? 0) + sample * gainRight;
    }
  };
}

function crickets(random: Random, { pace, weight }: Manner): Bed {
  const count = Math.round(4 + 4 * weight);
  return beds(
    ...Array.from({ length: count }, (_, index) =>
      cricket(random.fork(`cricket ${index}`), pace, (index + 0.5) / count),
    ),
  );
}

function cicadas(random: Random, { weight }: Manner): Bed {
  return beds(
    ...[0.15, 0.5, 0.85].map((position, turn): Bed => {
      const own = random.fork(`cicada ${turn}`);
      const swell = wander(own.fork('swell'), 0.3, RATE);
      const hertz = 4300 + 900 * turn;
      const filters = [bandPass(RATE, hertz, 4), highPass(RATE, 2500)].map((coefficients) => new Biquad(coefficients));
      const rate = own.between(95, 140);
      let at = 0;
      return (left, right) => {
        const buzzing = new Float32Array(left.length);
        for (let index = 0; index < buzzing.length; index++) {
          at += rate / RATE;
          at -= Math.floor(at);
          buzzing[index] = (own.next() * 2 - 1) * (at < 0.35 ? 1 : 0.15) * (0.55 + 0.45 * swell()) * weight;
        }
        for (const filter of filters) filter.process(buzzing);
        for (let index = 0; index < left.length; index++) {
          left[index] = (left[index] ?? 0) + (buzzing[index] ?? 0) * (1 - position);
          right[index] = (right[index] ?? 0) + (buzzing[index] ?? 0) * position;
        }
      };
    }),
  );
}

/** Two syllables of pulses, the second higher: the frog of films. Every third croak is single and long. */
function frog(random: Random, { pitch }: Manner, turn: number): Take {
  const croak = (seconds: number, pulses: number, hertz: number, own: Random): Float32Array =>
    cry(own, {
      seconds,
      pitch: steady(pulses * pitch),
      level: through([0, 0.2], [0.5, 1], [0.9, 0.8], [1, 0]),
      formants: [
        { hertz: through([0, hertz * 0.85], [1, hertz * 1.15]), q: 6, level: 2 },
        { hertz: steady(hertz * 2.3 * pitch), q: 5, level: 0.9 },
      ],
      breath: 0.05,
      roughness: 0.3,
    });
  if (turn % 3 === 2) return croak(random.between(0.5, 0.8), 32, random.between(480, 620) * pitch, random);
  return together(
    [croak(0.13, 62, 820 * pitch, random.fork('rib'))],
    [croak(0.17, 74, 1250 * pitch, random.fork('bit')), 0.17],
  );
}

/** Wings that beat so fast that they hum. */
function humming(hertz: number, roughness: number): (random: Random, manner: Manner) => Bed {
  return (random, { pitch }) => {
    const [near, wobble, side] = [
      wander(random.fork('near'), 0.7, RATE),
      wander(random.fork('wobble'), 3, RATE),
      wander(random.fork('side'), 0.5, RATE),
    ];
    let phase = 0;
    return (left, right) => {
      for (let index = 0; index < left.length; index++) {
        const distance = 0.5 + 0.5 * near();
        phase += (hertz * pitch * (1 + 0.05 * wobble() + 0.05 * distance)) / RATE;
        phase -= Math.floor(phase);
        const sample = (buzz(phase) + roughness * (random.next() - 0.5)) * (0.05 + 0.4 * distance * distance);
        const position = 0.5 + 0.45 * side();
        left[index] = (left[index] ?? 0) + sample * (1 - position);
        right[index] = (right[index] ?? 0) + sample * position;
      }
    };
  };
}

/** Hundreds of wings. */
function swarmOfBees(random: Random, manner: Manner): Bed {
  return beds(
    ...Array.from({ length: 7 }, (_, index) => humming(170 + 26 * index, 0.15)(random.fork(`bee ${index}`), manner)),
  );
}

export const INSECTS: readonly Thing[] = [
  { names: ['cricket', 'grasshopper', 'insect'], bed: crickets, spread: 1, naturalSeconds: 6, wet: 0.1 },
  { names: ['cicada', 'locust'], bed: cicadas, spread: 1, naturalSeconds: 6, wet: 0.1 },
  {
    names: ['frog', 'toad', 'croak', 'croaking', 'ribbit'],
    strike: frog,
    rhythm: { every: [0.35, 1.1] },
    spread: 0.9,
    wet: 0.25,
  },
  { names: ['bee', 'bumblebee', 'buzzing', 'fly', 'wasp', 'hornet', 'housefly'], bed: humming(215, 0.1), wet: 0.05 },
  { names: ['beehive', 'swarm', 'swarm of bees'], bed: swarmOfBees, spread: 1, wet: 0.08 },
  { names: ['mosquito', 'gnat'], bed: humming(590, 0.15), wet: 0.05 },
];

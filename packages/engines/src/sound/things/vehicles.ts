/** Rail vehicles and aircraft, and the street as a whole: rails are heard by their joints, rotors by their blades. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, filtered, highPass, lowPass, peak } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import { SAMPLE_RATE, addAt, burst, samplesIn, sine, struck, swelling, together, tone } from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { beds, centred } from './grains.ts';
import { CONTROLS_A_SECOND, hiss, steadyHiss } from './hiss.ts';
import { blow } from './blows.ts';
import { throttleOf } from './engines.ts';

const RATE = SAMPLE_RATE;

/** The joints of the rails: two axles, and the two of the next bogie. */
function railJoint(random: Random, { weight, pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(0.62));
  for (const [at, level] of [
    [0, 1],
    [0.11, 0.8],
    [0.33, 0.9],
    [0.44, 0.7],
  ] as const) {
    const joint = together(
      [blow(random, 'metal', 310 * pitch, weight, 0.2), 0, 0.3],
      [tone(0.16, 74 * pitch, struck(0.002, 0.15)), 0, 0.9],
      [filtered(burst(0.05, whiteNoise(random), struck(0.001, 0.04)), bandPass(RATE, 1300, 0.8)), 0, 0.5],
    );
    addAt(whole, joint, at, level);
  }
  return whole;
}

function train(random: Random, { weight }: Manner): Bed {
  return beds(
    hiss(random.fork('roll'), brownNoise, (own) => {
      const sway = wander(own, 1.3, CONTROLS_A_SECOND);
      return () => ({ filters: [bandPass(RATE, 140, 0.4)], level: 0.9 * weight * (1 + 0.2 * sway()) });
    }),
    steadyHiss(random.fork('wheels'), pinkNoise, [bandPass(RATE, 900, 0.5)], 0.16),
    hiss(random.fork('flange'), whiteNoise, (own) => {
      const curve = wander(own, 0.3, CONTROLS_A_SECOND);
      return () => ({ filters: [bandPass(RATE, 3100 + 500 * curve(), 16)], level: 0.25 * Math.max(0, curve() - 0.3) });
    }),
  );
}

/** A steam locomotive's chimney: four strokes a turn, the first the strongest. */
function chuff(random: Random, { weight, pace, course, seconds }: Manner, turn: number): Take {
  const hurry = course === 'accelerating' ? 1 + Math.min(turn * 0.05, 1.5) : 1;
  const length = Math.min(0.24, 0.2 / pace / hurry + 0.04) * Math.min(1, seconds);
  const strength = turn % 4 === 0 ? 1 : 0.72;
  const blast = burst(length + 0.05, pinkNoise(random), struck(0.014, length));
  filtered(blast, bandPass(RATE, 620, 0.55), peak(RATE, 2400, 1, 5));
  return together(
    [blast, 0, 1.6 * strength * weight],
    [filtered(burst(length, brownNoise(random), struck(0.01, length)), lowPass(RATE, 170)), 0, 1.2 * strength],
  );
}

/** The slap of each blade, the whine of the turbine, the air that is beaten down. */
function helicopter(random: Random, { pace, pitch, weight }: Manner): Bed {
  const air = pinkNoise(random.fork('air'));
  const slap = new Biquad(lowPass(RATE, 950));
  const unsteady = wander(random.fork('unsteady'), 0.8, RATE);
  let [blade, tail, whine] = [0, 0, 0];
  return beds(
    centred((samples) => {
      for (let index = 0; index < samples.length; index++) {
        const turn = 1 + 0.015 * unsteady();
        blade += (11.5 * pace * pitch * turn) / RATE;
        blade -= Math.floor(blade);
        tail += (54 * pitch * turn) / RATE;
        tail -= Math.floor(tail);
        whine += (2150 * pitch * turn) / RATE;
        whine -= Math.floor(whine);
        const beat = Math.exp(-blade * 13) - 0.35 * Math.exp(-Math.abs(blade - 0.2) * 12);
        const noise = air();
        const chop = slap.step(beat * (0.8 + 1.4 * noise)) * 1.5 * weight;
        samples[index] =
          (samples[index] ?? 0) +
          chop +
          noise * (0.1 + 0.22 * Math.exp(-blade * 5)) +
          0.07 * Math.sin(2 * Math.PI * tail) +
          0.012 * Math.sin(2 * Math.PI * whine);
      }
    }),
    steadyHiss(random.fork('wash'), pinkNoise, [bandPass(RATE, 480, 0.5)], 0.12 * weight),
  );
}

/** A jet: the roar of its stream and the howl of its fans. */
function jet(random: Random, { pitch, weight, course, seconds }: Manner): Bed {
  const thrust = throttleOf(random, course, seconds, 1);
  const [first, second] = [wander(random.fork('first'), 0.4, RATE), wander(random.fork('second'), 0.3, RATE)];
  let [a, b, index] = [0, 0, 0];
  return beds(
    hiss(random.fork('roar'), pinkNoise, (own) => {
      const swell = wander(own, 2.2, CONTROLS_A_SECOND);
      return () => ({
        filters: [lowPass(RATE, 1700), bandPass(RATE, 260, 0.3)],
        level: 0.8 * weight * (1 + 0.18 * swell()),
      });
    }),
    steadyHiss(random.fork('rush'), whiteNoise, [bandPass(RATE, 2600, 0.5)], 0.05 * weight),
    centred((samples) => {
      for (let position = 0; position < samples.length; position++) {
        const open = 0.7 + 0.5 * thrust(index / RATE);
        index += 1;
        a += (1650 * pitch * open * (1 + 0.01 * first())) / RATE;
        a -= Math.floor(a);
        b += (2490 * pitch * open * (1 + 0.01 * second())) / RATE;
        b -= Math.floor(b);
        samples[position] =
          (samples[position] ?? 0) + 0.035 * Math.sin(2 * Math.PI * a) + 0.02 * Math.sin(2 * Math.PI * b);
      }
    }),
  );
}

/** In the cabin: the roar through the wall. */
function cabin(random: Random, { weight }: Manner): Bed {
  return beds(
    steadyHiss(random.fork('deep'), brownNoise, [lowPass(RATE, 420)], 1.1 * weight),
    steadyHiss(random.fork('air'), pinkNoise, [bandPass(RATE, 1300, 0.4)], 0.16),
  );
}

/** A street: vehicles that pass nearby, one after the other. */
function passingCar(random: Random, { pace }: Manner): Take {
  const seconds = random.between(2.6, 4.2) / pace;
  const isToRight = random.chance(0.5);
  const hertz = random.between(62, 105);
  const noise = pinkNoise(random);
  const source = burst(seconds, noise, () => 1);
  filtered(source, bandPass(RATE, random.between(600, 1000), 0.45));
  const motor = tone(
    seconds,
    (at) => hertz * (at < seconds / 2 ? 1.06 - 0.12 * Math.max(0, (at - seconds * 0.4) / (seconds * 0.1)) * 0.5 : 0.94),
    () => 0.16,
    sine,
  );
  const near = (at: number): number => 1 / (1 + ((at - seconds / 2) / (seconds * 0.1)) ** 2);
  const edge = swelling(seconds / 2, seconds / 2);
  const sides = [-1, 1].map((side) => {
    const result = new Float32Array(samplesIn(seconds));
    for (let index = 0; index < result.length; index++) {
      const at = index / RATE;
      const position = (isToRight ? 1 : -1) * Math.max(-1, Math.min(1, (at - seconds / 2) / (seconds * 0.22)));
      result[index] =
        ((source[index] ?? 0) + (motor[index] ?? 0)) * near(at) * edge(at) * (0.5 + 0.5 * position * side + 0.12);
    }
    return result;
  });
  return [sides[0] ?? source, sides[1] ?? source];
}

function farTraffic(random: Random, { weight }: Manner): Bed {
  return hiss(random, brownNoise, (own) => {
    const swell = wander(own, 0.2, CONTROLS_A_SECOND);
    return () => ({
      filters: [bandPass(RATE, 180, 0.4), highPass(RATE, 45)],
      level: 0.6 * weight * (1 + 0.35 * swell()),
    });
  });
}

/** Tyres that slip. */
function screech(random: Random, { pitch }: Manner): Take {
  const seconds = random.between(0.9, 1.5);
  const hertz = random.between(850, 1100) * pitch;
  const tremble = wander(random, 60, RATE);
  const cryOfTyres = tone(
    seconds,
    (at) => hertz * (1.12 - 0.2 * (at / seconds)) * (1 + 0.03 * tremble()),
    (at) => swelling(seconds * 0.15, seconds * 0.85)(at),
    (phase) => Math.tanh(3 * Math.sin(2 * Math.PI * phase)),
  );
  return together(
    [cryOfTyres, 0, 0.6],
    [
      filtered(burst(seconds, whiteNoise(random), swelling(seconds * 0.1, seconds * 0.9)), bandPass(RATE, 2400, 0.8)),
      0,
      0.5,
    ],
  );
}

export const VEHICLES: readonly Thing[] = [
  {
    names: ['train', 'railway', 'subway train', 'metro', 'tram', 'rail', 'freight train'],
    bed: train,
    strike: railJoint,
    rhythm: { every: [1.02, 1.06], isFixed: true },
    spread: 0.6,
    naturalSeconds: 6,
    wet: 0.15,
  },
  {
    names: ['steam train', 'steam engine', 'locomotive', 'steam locomotive'],
    strike: chuff,
    rhythm: { every: [0.27, 0.28], isFixed: true },
    naturalSeconds: 6,
    wet: 0.25,
  },
  { names: ['helicopter', 'chopper', 'rotor'], bed: helicopter, naturalSeconds: 5, wet: 0.15 },
  {
    names: [
      'jet',
      'airplane',
      'aeroplane',
      'plane',
      'aircraft',
      'jet engine',
      'airliner',
      'fighter jet',
      'rocket',
      'rocket launch',
    ],
    bed: jet,
    spread: 0.8,
    naturalSeconds: 6,
    wet: 0.25,
  },
  {
    names: ['airplane cabin', 'cabin', 'inside a plane', 'in flight'],
    bed: cabin,
    spread: 0.8,
    naturalSeconds: 5,
    wet: 0.05,
  },
  {
    names: ['traffic', 'highway', 'street traffic', 'road', 'motorway', 'rush hour', 'busy street'],
    bed: farTraffic,
    strike: passingCar,
    rhythm: { every: [1.1, 2.6], first: 0 },
    bedLevel: -3,
    naturalSeconds: 6,
    spread: 0.2,
    wet: 0.1,
  },
  {
    names: ['tire screech', 'screech', 'screeching', 'skid', 'tyres', 'tires', 'drift'],
    strike: screech,
    rhythm: { every: [1.8, 2.8] },
    naturalSeconds: 1.6,
    wet: 0.25,
  },
];

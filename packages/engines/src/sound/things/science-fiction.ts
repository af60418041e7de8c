/** The weapons, engines and instruments of films about the future. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, filtered, highPass, lowPass } from '../signal/biquad.ts';
import { pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  buzz,
  driven,
  fallingIn,
  gliding,
  ringing,
  samplesIn,
  sine,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { beds, centred, pooled, swarm, wide } from './grains.ts';
import { CONTROLS_A_SECOND, hiss, steadyHiss } from './hiss.ts';

const RATE = SAMPLE_RATE;

function laser(random: Random, { pitch, weight }: Manner): Take {
  const seconds = 0.28 + 0.14 * weight;
  const top = about(random, 3400 * pitch, 0.12);
  const beam = tone(seconds, gliding(top, 140 * pitch, seconds * 0.8), struck(0.002, seconds), buzz);
  const second = tone(seconds, gliding(top * 1.52, 190 * pitch, seconds * 0.7), struck(0.002, seconds * 0.7), sine);
  const zap = filtered(burst(0.06, whiteNoise(random), struck(0.0004, 0.05)), highPass(RATE, 2500));
  return driven(together([beam, 0, 0.8], [second, 0, 0.5], [zap, 0, 0.7]), 1.4);
}

/** An energy sword: it hums, and its pitch bends when it moves. */
function lightsaber(random: Random, { pitch }: Manner): Bed {
  return wide(() => {
    // Both sides move alike.
    const swing = wander(random.fork('swing'), 1.1, RATE);
    const own = random.fork(`side ${random.next()}`);
    const filter = new Biquad(lowPass(RATE, 900));
    let [a, b, index] = [own.next(), own.next(), 0];
    return (samples) => {
      for (let position = 0; position < samples.length; position++) {
        const move = Math.max(0, swing()) ** 2;
        if (index % 64 === 0) filter.retune(lowPass(RATE, 500 + 2600 * move, 1.4));
        index += 1;
        a += (88 * pitch * (1 + 0.35 * move)) / RATE;
        b += (89.4 * pitch * (1 + 0.35 * move)) / RATE;
        a -= Math.floor(a);
        b -= Math.floor(b);
        samples[position] = filter.step(buzz(a) + buzz(b) + 0.15 * (own.next() - 0.5)) * (0.3 + 0.5 * move);
      }
    };
  });
}

/** Reactor tones that beat against each other, air in the corridors, something that turns over slowly. */
export function spaceship(random: Random, { pitch, weight }: Manner): Bed {
  const partials = [41, 41.6, 61.8, 82.7, 123.4];
  return beds(
    wide(() => {
      const own = random.fork(`side ${random.next()}`);
      const filter = new Biquad(lowPass(RATE, 300));
      const colour = wander(own, 0.25, CONTROLS_A_SECOND);
      const phases = partials.map(() => own.next());
      let index = 0;
      return (samples) => {
        for (let position = 0; position < samples.length; position++) {
          if (index % 64 === 0) filter.retune(lowPass(RATE, 330 * (1 + 0.6 * colour()), 1.3));
          index += 1;
          let sum = 0;
          for (const [mode, hertz] of partials.entries()) {
            const phase = ((phases[mode] ?? 0) + (hertz * pitch) / RATE) % 1;
            phases[mode] = phase;
            sum += buzz(phase) / (1 + mode * 0.5);
          }
          samples[position] = filter.step(sum) * 0.3 * weight;
        }
      };
    }),
    hiss(random.fork('air'), pinkNoise, (own) => {
      const flow = wander(own, 0.2, CONTROLS_A_SECOND);
      return () => ({ filters: [bandPass(RATE, 700 + 250 * flow(), 0.6)], level: 0.07 * (1 + 0.4 * flow()) });
    }),
    hiss(random.fork('pulse'), pinkNoise, () => {
      let at = 0;
      return () => {
        at += 1 / CONTROLS_A_SECOND;
        const beat = 0.5 + 0.5 * Math.sin(2 * Math.PI * 0.55 * at);
        return { filters: [bandPass(RATE, 180 + 420 * beat, 5)], level: 0.35 * beat ** 3 };
      };
    }),
  );
}

/** Everything rises at once and disappears. */
function teleport(random: Random, { pitch }: Manner): Take {
  const seconds = 1.7;
  const whole = new Float32Array(samplesIn(seconds + 0.4));
  for (let index = 0; index < 9; index++) {
    const from = (180 + 130 * index) * pitch;
    const shimmer = tone(
      seconds,
      (at) => from * 2 ** ((at / seconds) ** 2 * 3) * (1 + 0.02 * Math.sin(2 * Math.PI * (7 + index) * at)),
      (at) => 0.16 * swelling(seconds * 0.85, seconds * 0.15)(at),
    );
    addAt(whole, shimmer, index * 0.02);
  }
  addAt(
    whole,
    swept(
      burst(seconds, whiteNoise(random), swelling(seconds * 0.9, seconds * 0.1)),
      (hertz) => bandPass(RATE, hertz, 2),
      (at) => 400 + 7000 * (at / seconds) ** 2,
    ),
    0,
    0.6,
  );
  return addAt(
    whole,
    filtered(burst(0.35, whiteNoise(random), struck(0.001, 0.3)), highPass(RATE, 3000)),
    seconds * 0.97,
    0.4,
  );
}

/** Static between two radio stations. */
function radioStatic(random: Random, { weight }: Manner): Bed {
  const crackle = pooled(random.fork('pool'), 60, () =>
    burst(0.006, whiteNoise(random), fallingIn(0.005)).map((sample) => sample * random.next() ** 2 * 2),
  );
  const tuning = wander(random.fork('tuning'), 0.5, RATE);
  let phase = 0;
  return beds(
    hiss(random.fork('noise'), whiteNoise, (own) => {
      const [fading, colour] = [wander(own, 1.6, CONTROLS_A_SECOND), wander(own, 0.7, CONTROLS_A_SECOND)];
      return () => ({
        filters: [bandPass(RATE, 2000 + 900 * colour(), 0.5)],
        level: 0.35 * weight * (0.75 + 0.35 * fading()),
      });
    }),
    swarm(random.fork('crackle'), () => 28, crackle),
    (left, right) => {
      for (let index = 0; index < left.length; index++) {
        const near = tuning();
        phase += (500 + 2600 * Math.abs(near)) / RATE;
        phase -= Math.floor(phase);
        const whistle = Math.sin(2 * Math.PI * phase) * 0.07 * Math.max(0, 0.7 - Math.abs(near));
        left[index] = (left[index] ?? 0) + whistle;
        right[index] = (right[index] ?? 0) + whistle;
      }
    },
  );
}

function sonar(_random: Random, { pitch }: Manner): Take {
  const ping = tone(2.6, gliding(1140 * pitch, 1110 * pitch, 2), struck(0.006, 2.4));
  return together([ping], [tone(1.4, 1122 * pitch, struck(0.02, 1.3)), 0.75, 0.22]);
}

/** Particles at random times. */
function geiger(random: Random, { weight }: Manner): Bed {
  const near = wander(random.fork('near'), 0.35, 40);
  return swarm(
    random,
    () => 9 * weight * 2 ** (3 * near()),
    () =>
      together(
        [filtered(burst(0.004, whiteNoise(random), fallingIn(0.003)), bandPass(RATE, 3400, 1)), 0, 1.6],
        [ringing(0.008, [{ hertz: 2100, level: 0.5, decay: 0.008 }])],
      ),
    0.15,
  );
}

/** A force field, electricity in the air. */
function electricity(random: Random, { weight }: Manner): Bed {
  const arc = pooled(random.fork('pool'), 70, () => {
    const seconds = random.between(0.02, 0.16);
    const spark = burst(
      seconds,
      whiteNoise(random),
      (at) => (Math.sin(2 * Math.PI * 100 * at) > 0 ? 1 : 0.2) * fallingIn(seconds)(at),
    );
    return filtered(spark, highPass(RATE, 1600)).map((sample) => sample * random.next());
  });
  const mood = wander(random.fork('mood'), 1.4, 60);
  let phase = 0;
  return beds(
    steadyHiss(random.fork('air'), whiteNoise, [bandPass(RATE, 6500, 0.8)], 0.012),
    swarm(random.fork('arcs'), () => 15 * weight * Math.max(0.2, 1 + mood()), arc, 0.5),
    // The mains hum, with two peaks per period.
    centred((samples) => {
      for (let index = 0; index < samples.length; index++) {
        phase += 100 / RATE;
        phase -= Math.floor(phase);
        samples[index] = buzz(phase) * 0.09;
      }
    }),
  );
}

export const SCIENCE_FICTION: readonly Thing[] = [
  {
    names: ['laser', 'laser gun', 'blaster', 'ray gun', 'phaser', 'zap', 'pew'],
    strike: laser,
    rhythm: { every: [0.35, 0.9], group: [1, 3], gap: [0.16, 0.24] },
    spread: 0.7,
    naturalSeconds: 2,
    wet: 0.3,
    room: 'hall',
  },
  { names: ['lightsaber', 'light saber', 'energy sword', 'laser sword'], bed: lightsaber, naturalSeconds: 4, wet: 0.2 },
  {
    names: [
      'spaceship',
      'space ship',
      'starship',
      'spacecraft',
      'space station',
      'ufo',
      'engine room',
      'reactor',
      'sci fi',
      'space',
    ],
    bed: spaceship,
    spread: 1,
    naturalSeconds: 6,
    room: 'space',
    wet: 0.3,
  },
  {
    names: ['teleport', 'teleportation', 'portal', 'warp', 'hyperspace', 'time travel'],
    strike: teleport,
    rhythm: { every: [2.4, 3.2] },
    naturalSeconds: 2.2,
    room: 'space',
    wet: 0.4,
  },
  {
    names: ['static', 'radio', 'white noise', 'tv static', 'interference', 'radio static', 'tuning', 'vinyl'],
    bed: radioStatic,
    spread: 0.4,
    naturalSeconds: 3,
    wet: 0.05,
  },
  {
    names: ['sonar', 'radar', 'submarine sonar', 'sonar ping'],
    strike: sonar,
    rhythm: { every: [2.9, 3.1], isFixed: true },
    naturalSeconds: 4,
    wet: 0.6,
    room: 'space',
  },
  { names: ['geiger counter', 'geiger', 'radiation'], bed: geiger, naturalSeconds: 4, wet: 0.08, room: 'room' },
  {
    names: [
      'electricity',
      'electric',
      'spark',
      'sparks',
      'tesla coil',
      'force field',
      'high voltage',
      'short circuit',
      'neon sign',
      'taser',
    ],
    bed: electricity,
    spread: 0.5,
    naturalSeconds: 3,
    wet: 0.15,
    room: 'room',
  },
];

/** Single drums, rolls and a plain beat; music is the work of another engine. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, highPass } from '../signal/biquad.ts';
import { whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  gliding,
  ringing,
  samplesIn,
  struck,
  swelling,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';

const RATE = SAMPLE_RATE;

function kick(random: Random, { pitch, weight }: Manner): Take {
  const skin = tone(0.45, gliding(165 * pitch, 47 * pitch, 0.07), struck(0.001, 0.42));
  return together(
    [skin, 0, weight],
    [filtered(burst(0.02, whiteNoise(random), struck(0.0003, 0.012)), bandPass(RATE, 3200, 0.7)), 0, 0.35],
  );
}

function snare(random: Random, { pitch, weight }: Manner): Take {
  const wires = filtered(burst(0.3, whiteNoise(random), struck(0.0006, 0.22)), highPass(RATE, 1400));
  return together(
    [wires, 0, 0.7 * weight],
    [
      ringing(0.2, [
        { hertz: 186 * pitch, level: 1, decay: 0.14 },
        { hertz: 331 * pitch, level: 0.7, decay: 0.1 },
      ]),
      0,
      0.7,
    ],
  );
}

/** Six square waves without a common factor, as in drum machines. `ring` how long: closed, open, crash. */
function cymbal(ring: number, lowest: number): (random: Random, manner: Manner) => Take {
  return (random, { pitch, weight }) => {
    const modes = Array.from({ length: 42 }, () => ({
      hertz: lowest * pitch * 2 ** random.between(0, 3.2),
      level: random.between(0.3, 1),
      decay: ring * random.between(0.5, 1.1),
    }));
    const wash = filtered(burst(ring * 1.1, whiteNoise(random), struck(0.001, ring)), highPass(RATE, lowest * 2.4));
    return together([ringing(ring * 1.1, modes), 0, 0.12], [wash, 0, 0.75 * weight]);
  };
}

function tom(random: Random, { pitch, weight }: Manner, turn: number): Take {
  const hertz = about(random, [165, 130, 98, 82][turn % 4] ?? 110, 0.02) * pitch;
  return together(
    [tone(0.6, gliding(hertz * 1.45, hertz, 0.06), struck(0.001, 0.5)), 0, weight],
    [filtered(burst(0.04, whiteNoise(random), struck(0.0005, 0.03)), bandPass(RATE, 900, 0.7)), 0, 0.4],
  );
}

/** Two sticks, too fast to be heard individually, louder and louder, and the final stroke. */
function roll(random: Random, { seconds: time, pace }: Manner): Take {
  const seconds = Math.min(3.2, Math.max(1, time * 0.75));
  const whole = new Float32Array(samplesIn(seconds + 1.8));
  const manner = { weight: 1, pace: 1, pitch: 1, surface: undefined, course: undefined, seconds: 1 } as const;
  for (let at = 0; at < seconds; at += random.between(0.034, 0.042) / pace) {
    addAt(whole, snare(random, manner) as Float32Array, at, 0.18 + 0.4 * (at / seconds) ** 1.6);
  }
  addAt(whole, cymbal(1.6, 420)(random, manner) as Float32Array, seconds, 0.9);
  return addAt(whole, kick(random, manner) as Float32Array, seconds, 1);
}

/** After a joke. */
function rimshot(random: Random, manner: Manner): Take {
  return together(
    [snare(random, manner) as Float32Array],
    [tom(random, manner, 2) as Float32Array, 0.19],
    [
      together([kick(random, manner) as Float32Array], [cymbal(1.3, 420)(random, manner) as Float32Array, 0, 0.8]),
      0.42,
    ],
  );
}

/** One bar in 4/4 time; occasionally an extra stroke, so that it does not sound like a loop. */
function beat(random: Random, manner: Manner, turn: number): Take {
  const whole = new Float32Array(samplesIn(2.4));
  const step = 0.125;
  const add = (index: number, sound: Take, gain: number): void => {
    addAt(whole, sound as Float32Array, (index * step) / manner.pace + random.between(0, 0.006), gain);
  };
  for (const index of [0, 6, 10, ...(random.chance(0.4) ? [13] : [])]) add(index, kick(random, manner), 0.9);
  for (const index of [4, 12, ...(turn % 4 === 3 ? [14, 15] : [])]) add(index, snare(random, manner), 0.7);
  for (let index = 0; index < 16; index += 2)
    add(
      index + (random.chance(0.08) ? 1 : 0),
      cymbal(index === 14 ? 0.3 : 0.07, 900)(random, manner),
      0.28 * random.between(0.7, 1),
    );
  return whole;
}

/** A drum the size of a man, in a hall. */
function taiko(random: Random, { pitch, weight }: Manner): Take {
  const skin = ringing(1.4, [
    { hertz: 62 * pitch, level: 1, decay: 1.1 },
    { hertz: 99 * pitch, level: 0.7, decay: 0.7 },
    { hertz: 142 * pitch, level: 0.5, decay: 0.45 },
    { hertz: 187 * pitch, level: 0.3, decay: 0.3 },
  ]);
  return together(
    [skin, 0, weight],
    [tone(0.3, gliding(120 * pitch, 62 * pitch, 0.08), struck(0.001, 0.28)), 0, 0.8],
    [filtered(burst(0.06, whiteNoise(random), struck(0.0006, 0.05)), bandPass(RATE, 700, 0.6)), 0, 0.7],
  );
}

function cymbalSwell(random: Random, manner: Manner): Take {
  const rise = Math.min(2.4, Math.max(0.8, manner.seconds * 0.6));
  const wash = (cymbal(3.4, 420)(random, manner) as Float32Array).slice();
  const swell = filtered(burst(rise, whiteNoise(random), swelling(rise * 0.98, rise * 0.02)), highPass(RATE, 1500));
  return together([swell, 0, 0.6], [wash, rise * 0.97, 1]);
}

export const DRUMS: readonly Thing[] = [
  {
    names: ['kick', 'kick drum', 'bass drum', '808'],
    strike: kick,
    rhythm: { every: [0.5, 0.5], isFixed: true },
    naturalSeconds: 1,
    wet: 0.1,
    room: 'room',
  },
  {
    names: ['snare', 'snare drum'],
    strike: snare,
    rhythm: { every: [0.5, 0.5], isFixed: true },
    naturalSeconds: 1,
    wet: 0.2,
    room: 'room',
  },
  {
    names: ['hi hat', 'hihat', 'hat'],
    strike: cymbal(0.09, 900),
    rhythm: { every: [0.25, 0.25], isFixed: true },
    naturalSeconds: 1,
    wet: 0.1,
    room: 'room',
  },
  {
    names: ['cymbal', 'crash cymbal', 'cymbal crash'],
    strike: cymbal(2.6, 420),
    rhythm: { every: [3, 4], isFixed: true },
    naturalSeconds: 3,
    wet: 0.2,
    room: 'hall',
  },
  {
    names: ['cymbal swell', 'cymbal roll'],
    strike: cymbalSwell,
    rhythm: { every: [5, 6], isFixed: true },
    naturalSeconds: 4,
    wet: 0.3,
    room: 'hall',
  },
  {
    names: ['tom', 'tom drum', 'bongo', 'conga', 'drum hit', 'drum fill'],
    strike: tom,
    rhythm: { every: [0.24, 0.26] },
    naturalSeconds: 2,
    wet: 0.2,
    room: 'hall',
  },
  {
    names: ['drum roll', 'drumroll', 'snare roll'],
    strike: roll,
    rhythm: { every: [5, 5.5], first: 0, isFixed: true },
    naturalSeconds: 4,
    wet: 0.25,
    room: 'hall',
  },
  {
    names: ['rimshot', 'ba dum tss', 'badum tss', 'joke drum', 'punchline'],
    strike: rimshot,
    rhythm: { every: [2.6, 3.4], isFixed: true },
    naturalSeconds: 2,
    wet: 0.2,
    room: 'room',
  },
  {
    names: ['beat', 'drum beat', 'drums', 'drum loop', 'breakbeat', 'rhythm'],
    strike: beat,
    rhythm: { every: [2, 2], first: 0, isFixed: true },
    naturalSeconds: 6,
    wet: 0.12,
    room: 'room',
  },
  {
    names: ['taiko', 'war drum', 'war drums', 'epic drums', 'timpani', 'tribal drums'],
    strike: taiko,
    rhythm: { every: [0.5, 0.5], isFixed: true },
    naturalSeconds: 4,
    wet: 0.4,
    room: 'hall',
  },
];

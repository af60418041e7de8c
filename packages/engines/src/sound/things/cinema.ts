/** Film sound effects: movement, tension, impact, drone, dread. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, filtered, lowPass } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  addAt,
  burst,
  buzz,
  driven,
  gliding,
  ringing,
  samplesIn,
  shaped,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { wide } from './grains.ts';
import { CONTROLS_A_SECOND } from './hiss.ts';

const RATE = SAMPLE_RATE;

/** Air that something moves through; from one side to the other. */
export function whoosh(random: Random, { pace, pitch, weight }: Manner): Take {
  const seconds = random.between(0.55, 0.8) / pace;
  const level = swelling(seconds * 0.48, seconds * 0.52);
  const isToRight = random.chance(0.5);
  const sides = [0, 1].map((side) => {
    const own = random.fork(`side ${side}`);
    const late = ((side === 1) === isToRight ? 0.07 : -0.02) / pace;
    const air = burst(seconds + 0.1, pinkNoise(own), (at) => level(at - late) ** 2 * 2);
    swept(
      air,
      (hertz) => bandPass(RATE, hertz, 1.1),
      (at) => (260 + 2300 * level(at - late) ** 1.5) * pitch,
    );
    return together(
      [air, 0, 1.4],
      [
        filtered(
          burst(seconds, brownNoise(own), (at) => level(at) ** 3),
          lowPass(RATE, 160),
        ),
        0,
        1.2 * weight,
      ],
    );
  });
  const length = Math.min(...sides.map((side) => side.length));
  return [sides[0]?.subarray(0, length) ?? new Float32Array(1), sides[1]?.subarray(0, length) ?? new Float32Array(1)];
}

/** Before a cut: it rises as long as there is time, four seconds at most. */
function riser(random: Random, { pitch, seconds: time }: Manner): Take {
  const seconds = Math.min(4, Math.max(1, time * 0.9));
  const level = (at: number): number => (at / seconds) ** 2;
  const whole = new Float32Array(samplesIn(seconds + 0.05));
  for (const ratio of [1, 1.006, 1.5, 2.01])
    addAt(
      whole,
      tone(seconds, (at) => 70 * pitch * ratio * 2 ** ((at / seconds) * 3.4), level, buzz),
      0,
      0.22,
    );
  const air = swept(
    burst(seconds, whiteNoise(random), level),
    (hertz) => bandPass(RATE, hertz, 1.3),
    (at) => 300 + 7500 * (at / seconds) ** 1.6,
  );
  addAt(whole, air, 0, 0.9);
  return shaped(
    filtered(whole, lowPass(RATE, 9500)),
    (at) => 1 - 0.35 * (0.5 + 0.5 * Math.sin(2 * Math.PI * (3 + (9 * at) / seconds) * at)) * Math.min(1, at / 0.05),
  );
}

/** The hit of a trailer: a blow, a drum as large as a house, its echo in steel. */
function boom(random: Random, { pitch, weight }: Manner): Take {
  const sub = tone(3, gliding(82 * pitch, 31 * pitch, 1.1), struck(0.003, 2.8));
  const skin = filtered(burst(0.5, brownNoise(random), struck(0.001, 0.4)), lowPass(RATE, 420));
  const slap = filtered(burst(0.09, whiteNoise(random), struck(0.0005, 0.07)), bandPass(RATE, 1400, 0.6));
  const steel = ringing(
    3,
    Array.from({ length: 9 }, (_, index) => ({
      hertz: 118 * pitch * (1 + index * 0.71 + random.between(-0.1, 0.1)),
      level: 0.12 / (1 + index * 0.3),
      decay: 2.6 / (1 + index * 0.2),
    })),
  );
  return driven(together([sub, 0, 1.3 * weight], [skin, 0, 2], [slap, 0, 0.8], [steel, 0, 1]), 1.9);
}

/** Brass as wide as the screen. */
function braam(random: Random, { pitch }: Manner): Take {
  const seconds = 2.8;
  const whole = new Float32Array(samplesIn(seconds));
  for (const ratio of [0.5, 1, 1.004, 0.997, 1.5, 2.003]) {
    const unsteady = wander(random.fork(`horn ${ratio}`), 4, RATE);
    addAt(
      whole,
      tone(seconds, () => 55 * pitch * ratio * (1 + 0.004 * unsteady()), struck(0.05, seconds * 1.2), buzz),
      0,
      0.35,
    );
  }
  return driven(
    swept(
      whole,
      (hertz) => lowPass(RATE, hertz, 1.1),
      (at) => 240 + 3400 * Math.exp(-at * 1.7) * Math.min(1, at / 0.06),
    ),
    2.4,
  );
}

/** A sustained tone that keeps changing: slightly detuned voices behind a moving filter. `chord` in ratios. */
export function drone(
  chord: readonly number[],
  base: number,
  brightness: number,
): (random: Random, manner: Manner) => Bed {
  return (random, { pitch, weight, pace }) =>
    wide(() => {
      const own = random.fork(`side ${random.next()}`);
      const voices = chord.flatMap((ratio) =>
        [0.9975, 1, 1.0031].map((detune) => ({
          hertz: base * pitch * ratio * detune * (1 + 0.0008 * (own.next() - 0.5)),
          phase: own.next(),
          swell: wander(own.fork(`${ratio} ${detune}`), 0.14 * pace, CONTROLS_A_SECOND),
          level: 0.5,
        })),
      );
      const filter = new Biquad(lowPass(RATE, 500));
      const second = new Biquad(lowPass(RATE, 900));
      const colour = wander(own.fork('colour'), 0.11 * pace, CONTROLS_A_SECOND);
      let index = 0;
      return (samples) => {
        for (let position = 0; position < samples.length; position++) {
          if (index % 64 === 0) {
            const hertz = brightness * 2 ** (0.9 * colour());
            filter.retune(lowPass(RATE, hertz, 1.2));
            second.retune(lowPass(RATE, hertz * 1.8));
            for (const voice of voices) voice.level = 0.55 + 0.45 * voice.swell();
          }
          index += 1;
          let sum = 0;
          for (const voice of voices) {
            voice.phase += voice.hertz / RATE;
            if (voice.phase >= 1) voice.phase -= 1;
            // Sawteeth: the filter removes the aliasing.
            sum += (voice.phase - 0.5) * voice.level;
          }
          samples[position] = second.step(filter.step(sum)) * (0.9 / voices.length) * weight;
        }
      };
    });
}

/** Strings that were never tuned, a distant door, an inward breath. */
function dread(random: Random, { pitch }: Manner): Take {
  const seconds = random.between(2.6, 4.4);
  const whole = new Float32Array(samplesIn(seconds));
  const root = random.pick([196, 220, 233, 277] as const) * pitch;
  for (const step of [0, 1, 6, 7, 13]) {
    const unsteady = wander(random.fork(`string ${step}`), 8, RATE);
    const slide = random.between(-0.8, 0.8);
    addAt(
      whole,
      tone(
        seconds,
        (at) => root * 2 ** ((step + slide * (at / seconds) + 0.16 * unsteady()) / 12),
        swelling(seconds * 0.6, seconds * 0.4),
        buzz,
      ),
      random.between(0, 0.2),
      0.2,
    );
  }
  return filtered(whole, bandPass(RATE, 1400, 0.35), lowPass(RATE, 5200));
}

export const CINEMA: readonly Thing[] = [
  {
    names: ['whoosh', 'swoosh', 'swish', 'swing', 'transition', 'swipe', 'arrow', 'whip', 'fly past'],
    strike: whoosh,
    rhythm: { every: [1, 1.8] },
    spread: 0.2,
    naturalSeconds: 1,
    wet: 0.15,
    room: 'hall',
  },
  {
    names: ['riser', 'uplifter', 'build up', 'buildup', 'tension', 'suspense', 'rising'],
    strike: riser,
    rhythm: { every: [4.2, 4.6], first: 0 },
    naturalSeconds: 4,
    wet: 0.3,
    room: 'hall',
  },
  {
    names: [
      'boom',
      'cinematic impact',
      'cinematic hit',
      'trailer hit',
      'sub drop',
      'bass drop',
      'cinematic boom',
      'deep impact',
      'cinematic',
    ],
    strike: boom,
    rhythm: { every: [2.8, 4] },
    naturalSeconds: 3,
    wet: 0.45,
    room: 'church',
  },
  {
    names: ['braam', 'trailer horn', 'inception', 'trailer'],
    strike: braam,
    rhythm: { every: [3.2, 4.2] },
    naturalSeconds: 3,
    wet: 0.4,
    room: 'hall',
  },
  {
    names: [
      'drone',
      'ambient',
      'ambience',
      'ambient pad',
      'pad',
      'atmosphere',
      'soundscape',
      'dream',
      'relaxing',
      'zen',
    ],
    bed: drone([1, 1.5, 2, 3], 110, 900),
    spread: 1,
    naturalSeconds: 8,
    room: 'space',
    wet: 0.4,
  },
  {
    names: [
      'dark ambient',
      'dark ambience',
      'ominous',
      'evil',
      'menacing',
      'dark drone',
      'sinister',
      'mysterious',
      'mystery',
    ],
    bed: drone([0.5, 1, 1.059, 1.498], 65.4, 380),
    spread: 1,
    naturalSeconds: 8,
    room: 'space',
    wet: 0.4,
  },
  {
    names: [
      'horror',
      'scary',
      'creepy',
      'haunted',
      'haunted house',
      'ghost',
      'spooky',
      'eerie',
      'nightmare',
      'terror',
      'halloween',
    ],
    bed: drone([0.5, 1, Math.SQRT2, 2.12], 55, 300),
    strike: dread,
    rhythm: { every: [3, 5.5], first: 0.6 },
    bedLevel: 2,
    spread: 0.9,
    naturalSeconds: 8,
    room: 'church',
    wet: 0.5,
  },
];

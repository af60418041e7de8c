/** People without words: hands, hearts, breath and throats. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, lowPass } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, whiteNoise } from '../signal/noise.ts';
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
  through,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';
import { cry, steady } from './throat.ts';

const RATE = SAMPLE_RATE;

/** Two hands. */
function clap(random: Random, { weight, pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(0.2));
  // The palms close over a few milliseconds.
  for (const at of [0, 0.004, 0.009]) {
    addAt(
      whole,
      filtered(
        burst(0.06, whiteNoise(random), struck(0.0006, 0.04)),
        bandPass(RATE, about(random, 1300 * pitch, 0.15), 1.3),
      ),
      at,
      random.between(0.6, 1) * weight,
    );
  }
  return addAt(
    whole,
    filtered(burst(0.15, whiteNoise(random), struck(0.001, 0.12)), bandPass(RATE, 2100 * pitch, 0.7)),
    0.009,
    0.35,
  );
}

/** Lub and dub: the valves close, the second time faster. */
function heartbeat(random: Random, { pace, weight, pitch }: Manner): Take {
  const beat = (hertz: number, level: number): Float32Array =>
    together(
      [tone(0.16, gliding(hertz * pitch * 1.5, hertz * pitch * 0.8, 0.1), (at) => level * swelling(0.022, 0.13)(at))],
      [filtered(burst(0.08, brownNoise(random), swelling(0.015, 0.065)), lowPass(RATE, 190)), 0, 1.4 * level],
    );
  return together([beat(52, weight)], [beat(66, 0.7 * weight), 0.29 / Math.sqrt(pace)]);
}

function breath(random: Random, { pace, weight }: Manner, turn: number): Take {
  const isIn = turn % 2 === 0;
  const seconds = (isIn ? 1.3 : 1.6) / pace;
  const air = burst(
    seconds,
    pinkNoise(random),
    (at) => swelling(seconds * (isIn ? 0.6 : 0.3), seconds * (isIn ? 0.4 : 0.7))(at) * weight,
  );
  const mouth = isIn
    ? [
        [1500, 2.5],
        [3400, 3],
      ]
    : [
        [780, 2],
        [2100, 3],
      ];
  return together(
    ...mouth.map(
      ([hertz = 1000, q = 2], index) =>
        [filtered(air.slice(), bandPass(RATE, hertz, q)), 0, index === 0 ? 1.2 : 0.7] as const,
    ),
  );
}

function laugh(random: Random, { pitch, pace }: Manner): Take {
  const hertz = random.pick([150, 210, 260] as const) * pitch;
  const syllables = random.integer(4, 8);
  const whole = new Float32Array(samplesIn((syllables * 0.2) / pace + 0.5));
  for (let index = 0; index < syllables; index++) {
    const top = hertz * (1.45 - (0.55 * index) / syllables) * random.between(0.94, 1.06);
    addAt(
      whole,
      cry(random.fork(`ha ${index}`), {
        seconds: 0.16 / pace,
        pitch: through([0, top * 1.1], [1, top * 0.8]),
        // The h before the a.
        level: through([0, 0.12], [0.25, 0.25], [0.45, 1], [1, 0]),
        formants: [
          { hertz: steady(820), q: 5, level: 1.5 },
          { hertz: steady(1350), q: 6, level: 1 },
          { hertz: steady(2700), q: 6, level: 0.4 },
        ],
        breath: 0.3,
        roughness: 0.25,
      }),
      (index * 0.195) / pace,
      1 - (0.5 * index) / syllables,
    );
  }
  return whole;
}

function scream(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 780 * pitch, 0.08);
  return cry(random, {
    seconds: random.between(1.2, 1.8),
    pitch: through([0, hertz * 0.7], [0.12, hertz * 1.3], [0.7, hertz * 1.2], [1, hertz * 0.75]),
    level: through([0, 0], [0.08, 1], [0.75, 0.9], [1, 0]),
    formants: [
      { hertz: steady(1050), q: 4, level: 1.4 },
      { hertz: steady(1650), q: 5, level: 1 },
      { hertz: steady(3100), q: 5, level: 0.6 },
    ],
    breath: 0.15,
    roughness: 0.7,
    vibrato: { hertz: 7, depth: 0.015 },
  });
}

/** A person whistles, slowly. */
function whistle(random: Random, { pitch }: Manner): Take {
  const notes = [0, 2, 4, 7, 9, 12];
  const whole = new Float32Array(samplesIn(2.4));
  let at = 0;
  let last = 1200 * pitch;
  for (let index = random.integer(3, 5); index > 0; index--) {
    const hertz = 1175 * pitch * 2 ** ((notes[random.integer(0, 5)] ?? 0) / 12);
    const seconds = random.between(0.22, 0.5);
    const from = last;
    addAt(
      whole,
      tone(
        seconds,
        (position) =>
          position < 0.05 ? from + ((hertz - from) * position) / 0.05 : hertz * (1 + 0.008 * Math.sin(34 * position)),
        (position) => swelling(seconds * 0.25, seconds * 0.75)(position),
      ),
      at,
    );
    addAt(
      whole,
      filtered(burst(seconds, whiteNoise(random), swelling(seconds * 0.25, seconds * 0.75)), bandPass(RATE, hertz, 4)),
      at,
      0.06,
    );
    at += seconds * 0.97;
    last = hertz;
  }
  return whole;
}

function snapFingers(random: Random, { pitch }: Manner): Take {
  return together(
    [filtered(burst(0.05, whiteNoise(random), struck(0.0003, 0.02)), bandPass(RATE, 2300 * pitch, 2.5)), 0, 1.4],
    [ringing(0.06, [{ hertz: 1750 * pitch, level: 0.6, decay: 0.05 }])],
  );
}

export const PEOPLE: readonly Thing[] = [
  {
    names: ['hand clap', 'handclap', 'single clap'],
    strike: clap,
    rhythm: { every: [0.48, 0.52], isFixed: true },
    naturalSeconds: 1.5,
    room: 'room',
    wet: 0.3,
  },
  {
    names: ['heartbeat', 'heart', 'heart beat', 'heart beating', 'pulse'],
    strike: heartbeat,
    rhythm: { every: [0.84, 0.88], isFixed: true },
    naturalSeconds: 4,
    wet: 0.05,
  },
  {
    names: ['breath', 'breathing', 'inhale', 'exhale', 'panting', 'sigh'],
    strike: breath,
    rhythm: { every: [1.75, 2], isFixed: true },
    naturalSeconds: 4,
    wet: 0.06,
  },
  {
    names: ['laugh', 'laughter', 'laughing', 'giggle', 'chuckle'],
    strike: laugh,
    rhythm: { every: [1.4, 2.4] },
    naturalSeconds: 2,
    room: 'room',
  },
  {
    names: ['scream', 'screaming', 'shriek', 'yell'],
    strike: scream,
    rhythm: { every: [2.4, 3.6] },
    naturalSeconds: 2,
    wet: 0.4,
    room: 'hall',
  },
  {
    names: ['whistle', 'whistling', 'person whistling'],
    strike: whistle,
    rhythm: { every: [2.6, 3.6], isFixed: true },
    naturalSeconds: 3,
    wet: 0.3,
  },
  {
    names: ['finger snap', 'finger snapping', 'snap', 'snapping'],
    strike: snapFingers,
    rhythm: { every: [0.48, 0.52], isFixed: true },
    naturalSeconds: 1.2,
    room: 'room',
    wet: 0.3,
  },
];

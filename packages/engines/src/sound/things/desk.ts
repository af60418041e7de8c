/** Desk sounds: keys, paper, a pen. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, highPass } from '../signal/biquad.ts';
import { wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  fallingIn,
  ringing,
  samplesIn,
  struck,
  swelling,
  swept,
  together,
} from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { CONTROLS_A_SECOND, hiss } from './hiss.ts';
import { blow } from './blows.ts';

const RATE = SAMPLE_RATE;

/** One key: down, and a moment later up; the long one sounds deeper. */
function keystroke(random: Random, { weight, pitch }: Manner): Take {
  const isLong = random.chance(0.14);
  const key = (level: number): Float32Array =>
    together(
      [
        filtered(
          burst(0.02, whiteNoise(random), struck(0.0004, 0.014)),
          bandPass(RATE, about(random, (isLong ? 1700 : 3100) * pitch, 0.2), 1.2),
        ),
        0,
        level,
      ],
      [
        ringing(0.03, [{ hertz: about(random, (isLong ? 280 : 480) * pitch, 0.15), level: 0.5, decay: 0.03 }]),
        0,
        level,
      ],
    );
  return together([key(weight)], [key(0.4 * weight), random.between(0.06, 0.1)]);
}

function typewriter(random: Random, { pitch }: Manner, turn: number): Take {
  const type = together(
    [blow(random, 'metal', about(random, 1500 * pitch, 0.1), 1, 0.08), 0, 0.5],
    [blow(random, 'wood', 310 * pitch, 1), 0, 0.8],
    [filtered(burst(0.01, whiteNoise(random), fallingIn(0.008)), highPass(RATE, 2000)), 0, 0.9],
  );
  if (turn % 24 !== 23) return type;
  // The end of a line: the bell, and the carriage return.
  const bell = ringing(1.2, [
    { hertz: 2650, level: 1, decay: 1.1 },
    { hertz: 5320, level: 0.4, decay: 0.5 },
  ]);
  const home = filtered(burst(0.45, whiteNoise(random), swelling(0.3, 0.15)), bandPass(RATE, 1800, 1));
  return together([type], [bell, 0.08, 0.7], [home, 0.35, 0.5], [type, 0.8, 1.2]);
}

function mouseClick(random: Random, { pitch }: Manner): Take {
  const click = (level: number): Float32Array =>
    together(
      [filtered(burst(0.012, whiteNoise(random), struck(0.0002, 0.007)), bandPass(RATE, 3800 * pitch, 1.5)), 0, level],
      [ringing(0.012, [{ hertz: 1250 * pitch, level: 0.4, decay: 0.012 }]), 0, level],
    );
  return together([click(1)], [click(0.6), random.between(0.07, 0.11)]);
}

/** A sheet of paper that is turned. */
function page(random: Random, { pace }: Manner): Take {
  const seconds = random.between(0.4, 0.7) / pace;
  const flutter = wander(random.fork('flutter'), 45, RATE);
  const sheet = burst(
    seconds,
    whiteNoise(random),
    (at) => swelling(seconds * 0.7, seconds * 0.3)(at) * (0.6 + 0.4 * flutter()),
  );
  swept(
    sheet,
    (hertz) => bandPass(RATE, hertz, 0.8),
    (at) => 2200 + 3800 * (at / seconds),
  );
  return together(
    [sheet],
    [filtered(burst(0.06, whiteNoise(random), struck(0.001, 0.05)), bandPass(RATE, 1200, 0.8)), seconds * 0.85, 0.5],
  );
}

function zipper(random: Random, { pace, pitch }: Manner): Take {
  const seconds = 0.55 / pace;
  const whole = new Float32Array(samplesIn(seconds + 0.05));
  let at = 0;
  while (at < seconds) {
    addAt(
      whole,
      filtered(
        burst(0.006, whiteNoise(random), fallingIn(0.005)),
        bandPass(RATE, (2300 + 2600 * (at / seconds)) * pitch, 2),
      ),
      at,
      0.7,
    );
    at += 0.0105 - 0.006 * (at / seconds);
  }
  return whole;
}

/** Handwriting: strokes of a pen on paper. */
function writing(random: Random, { pace }: Manner): Bed {
  return hiss(random, whiteNoise, (own) => {
    const [stroke, pause] = [wander(own, 7 * pace, CONTROLS_A_SECOND), wander(own, 0.9, CONTROLS_A_SECOND)];
    return () => ({
      filters: [bandPass(RATE, 3200 + 1200 * stroke(), 1.6)],
      level: 0.3 * Math.max(0, Math.abs(stroke()) - 0.15) * (pause() > -0.3 ? 1 : 0),
    });
  });
}

export const DESK: readonly Thing[] = [
  {
    names: ['typing', 'keyboard', 'computer keyboard', 'typing on a keyboard'],
    strike: keystroke,
    rhythm: { every: [0.25, 0.9], group: [3, 11], gap: [0.07, 0.17] },
    spread: 0.2,
    naturalSeconds: 4,
    room: 'room',
    wet: 0.12,
  },
  {
    names: ['typewriter'],
    strike: typewriter,
    rhythm: { every: [0.3, 0.7], group: [4, 10], gap: [0.1, 0.19] },
    spread: 0.15,
    naturalSeconds: 4,
    room: 'room',
  },
  {
    names: ['mouse click', 'mouse', 'computer mouse', 'pen click'],
    strike: mouseClick,
    rhythm: { every: [0.4, 1.3] },
    naturalSeconds: 1.5,
    room: 'room',
    wet: 0.08,
  },
  {
    names: ['page', 'page turn', 'paper', 'turning pages', 'book', 'newspaper', 'crumpling'],
    strike: page,
    rhythm: { every: [1, 2.2] },
    naturalSeconds: 2,
    room: 'room',
    wet: 0.1,
  },
  { names: ['zipper', 'zip'], strike: zipper, rhythm: { every: [1.4, 2.4] }, naturalSeconds: 1.2, room: 'room' },
  {
    names: ['writing', 'pen', 'pencil', 'scribbling', 'sketching', 'chalk', 'scratching'],
    bed: writing,
    naturalSeconds: 3,
    room: 'room',
  },
];

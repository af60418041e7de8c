/** Footsteps: heel and ball, on various kinds of ground. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, lowPass } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  gliding,
  samplesIn,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Manner, Surface, Take, Thing } from '../thing.ts';
import { blow } from './blows.ts';

const RATE = SAMPLE_RATE;

/** Many small pieces that give way under a foot. `hertz` is the frequency of the crunch, `spread` how long it takes. */
function crunch(
  random: Random,
  grains: number,
  hertz: readonly [number, number],
  spread: number,
  length: number,
): Float32Array {
  const whole = new Float32Array(samplesIn(spread + length * 2));
  for (let index = 0; index < grains; index++) {
    const grain = filtered(
      burst(length, whiteNoise(random), struck(0.0006, length)),
      bandPass(RATE, random.between(...hertz), 1.4),
    );
    // Most of it when the weight comes down.
    addAt(whole, grain, spread * random.next() ** 1.3, random.next() ** 1.5);
  }
  return whole;
}

/** The heel and a moment later the ball of a foot, on the given surface. */
function footfall(random: Random, surface: Surface, weight: number, part: 'heel' | 'ball'): Float32Array {
  const force = weight * (part === 'heel' ? 1 : 0.55);
  switch (surface) {
    case 'gravel':
      return crunch(random, part === 'heel' ? 42 : 28, [900, 5200], part === 'heel' ? 0.13 : 0.1, 0.012).map(
        (sample) => sample * force,
      );
    case 'snow':
      return together(
        [crunch(random, 90, [500, 2600], 0.2, 0.02), 0, 0.6 * force],
        [filtered(burst(0.2, pinkNoise(random), swelling(0.09, 0.11)), bandPass(RATE, 900, 1.2)), 0, 1.1 * force],
      );
    case 'grass':
    case 'leaves':
    case 'cloth':
      return crunch(
        random,
        surface === 'leaves' ? 60 : 26,
        surface === 'leaves' ? [1500, 7000] : [1800, 6000],
        0.16,
        surface === 'leaves' ? 0.014 : 0.02,
      ).map((sample) => sample * force * 0.8);
    case 'sand':
      return filtered(burst(0.2, pinkNoise(random), swelling(0.06, 0.14)), bandPass(RATE, 1500, 0.7)).map(
        (sample) => sample * force * 1.6,
      );
    case 'carpet':
      return filtered(burst(0.1, brownNoise(random), struck(0.008, 0.09)), lowPass(RATE, 260)).map(
        (sample) => sample * force * 3,
      );
    case 'water': {
      const splash = swept(
        burst(0.3, whiteNoise(random), struck(0.01, 0.26)),
        (hertz) => bandPass(RATE, hertz, 0.8),
        (at) => 2600 - 5000 * at,
      );
      return together(
        [splash, 0, force],
        [tone(0.09, gliding(300, 900, 0.08), struck(0.01, 0.08)), 0.05, 0.35 * force],
      );
    }
    case 'metal':
      return together(
        [blow(random, 'metal', about(random, 260, 0.12), force), 0, 0.5 * force],
        [blow(random, 'stone', 420, force), 0, 0.5 * force],
      );
    case 'wood':
    case 'roof':
      return together(
        [blow(random, 'wood', about(random, part === 'heel' ? 145 : 190, 0.08), force), 0, force],
        [tone(0.12, 78, struck(0.002, 0.11)), 0, 0.8 * force],
      );
    default:
      // Stone and other hard surfaces: the click of a heel and little body.
      return together(
        [blow(random, 'stone', about(random, part === 'heel' ? 950 : 700, 0.1), force), 0, force],
        [tone(0.06, 110, struck(0.001, 0.055)), 0, 0.5 * force],
      );
  }
}

function footstep(random: Random, { surface = 'stone', weight, pace }: Manner, turn: number): Take {
  const own = random.fork(turn % 2 === 0 ? 'left foot' : 'right foot');
  const heel = footfall(own.fork('heel'), surface, weight, 'heel');
  const ball = footfall(own.fork('ball'), surface, weight * 0.9, 'ball');
  return together([heel], [ball, 0.095 / pace, 0.7]);
}

export const STEPS: readonly Thing[] = [
  {
    names: [
      'footstep',
      'footsteps',
      'steps',
      'walking',
      'walk',
      'footfall',
      'high heels',
      'heels',
      'boots',
      'marching',
      'jogging',
      'someone walking',
    ],
    strike: footstep,
    rhythm: { every: [0.51, 0.57], isFixed: true },
    naturalSeconds: 4,
    room: 'hall',
    wet: 0.18,
  },
];

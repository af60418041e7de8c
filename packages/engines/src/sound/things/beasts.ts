/** Animals with voices, from the cat to the monster under the bed. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, lowPass } from '../signal/biquad.ts';
import { brownNoise, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  driven,
  samplesIn,
  struck,
  swelling,
  through,
  together,
  tone,
  triangle,
} from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';
import { cry, steady } from './throat.ts';

const RATE = SAMPLE_RATE;

/** Small dogs yap high, large ones bark deep: throat and pitch go together. */
function bark(random: Random, { pitch, weight }: Manner): Take {
  const hertz = about(random, 330 * pitch, 0.07);
  const throat = Math.sqrt(pitch);
  return cry(random, {
    seconds: random.between(0.15, 0.21),
    pitch: through([0, hertz * 0.9], [0.3, hertz * 1.65], [1, hertz * 0.7]),
    level: through([0, 0], [0.06, 1], [0.45, 0.8], [1, 0]),
    formants: [
      { hertz: through([0, 520 * throat], [0.4, 900 * throat], [1, 560 * throat]), q: 2.2, level: 1.5 },
      { hertz: steady(1500 * throat), q: 3, level: 1 },
      { hertz: steady(2900 * throat), q: 3, level: 0.5 },
    ],
    breath: 0.22 + 0.05 * weight,
    roughness: 0.8,
  });
}

function growl(random: Random, { pitch, weight, pace }: Manner): Take {
  return cry(random, {
    seconds: random.between(1.3, 2) / pace,
    pitch: through([0, 78 * pitch], [0.5, 96 * pitch], [1, 74 * pitch]),
    level: through([0, 0], [0.2, 1], [0.8, 0.9], [1, 0]),
    formants: [
      { hertz: steady(420), q: 2, level: 1.4 },
      { hertz: steady(950), q: 2.5, level: 0.8 },
      { hertz: steady(2200), q: 3, level: 0.25 },
    ],
    breath: 0.28,
    roughness: 1,
    flutter: { hertz: 27 * Math.sqrt(pitch), depth: 0.7 * Math.min(1, weight) },
  });
}

function meow(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 520 * pitch, 0.08);
  return cry(random, {
    seconds: random.between(0.65, 0.95),
    pitch: through([0, hertz * 0.85], [0.3, hertz * 1.25], [0.65, hertz * 1.1], [1, hertz * 0.75]),
    level: through([0, 0], [0.12, 0.7], [0.45, 1], [0.8, 0.6], [1, 0]),
    // From a closed mouth over a wide one to a round one: m, ee, ah, oo.
    formants: [
      { hertz: through([0, 380], [0.2, 500], [0.5, 1050], [1, 480]), q: 3, level: 1.4 },
      { hertz: through([0, 1300], [0.25, 2600], [0.55, 1800], [1, 950]), q: 4, level: 1 },
      { hertz: steady(3600), q: 4, level: 0.35 },
    ],
    breath: 0.05,
    roughness: 0.15,
  });
}

function purr(random: Random, { pitch }: Manner): Take {
  const breath = burst(
    1.5,
    brownNoise(random),
    (at) => swelling(0.5, 1)(at) * (Math.sin(2 * Math.PI * 25.5 * pitch * at) > 0.1 ? 1 : 0.12),
  );
  return filtered(breath, lowPass(RATE, 900), bandPass(RATE, 240, 0.4));
}

function howl(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 400 * pitch, 0.07);
  const seconds = random.between(2.8, 3.8);
  return cry(random, {
    seconds,
    pitch: through(
      [0, hertz * 0.62],
      [0.18, hertz * 1.45],
      [0.55, hertz * 1.38],
      [0.85, hertz * 1.2],
      [1, hertz * 0.8],
    ),
    level: through([0, 0], [0.15, 0.8], [0.5, 1], [0.85, 0.6], [1, 0]),
    formants: [
      { hertz: through([0, 480], [0.3, 760], [1, 520]), q: 2.5, level: 1.6 },
      { hertz: steady(1250), q: 4, level: 0.5 },
    ],
    breath: 0.03,
    roughness: 0.06,
    vibrato: { hertz: 4.6, depth: 0.012 },
    wave: triangle,
  });
}

function moo(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 118 * pitch, 0.06);
  return cry(random, {
    seconds: random.between(1.5, 2.1),
    pitch: through([0, hertz * 0.9], [0.35, hertz * 1.4], [0.75, hertz * 1.3], [1, hertz * 0.9]),
    level: through([0, 0], [0.15, 0.8], [0.6, 1], [1, 0]),
    formants: [
      { hertz: through([0, 260], [0.3, 340], [0.7, 620], [1, 420]), q: 2.5, level: 1.6 },
      { hertz: steady(1000), q: 4, level: 0.6 },
      { hertz: steady(2300), q: 4, level: 0.2 },
    ],
    breath: 0.06,
    roughness: 0.35,
  });
}

function baa(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 310 * pitch, 0.09);
  return cry(random, {
    seconds: random.between(0.7, 1.1),
    pitch: through([0, hertz], [0.3, hertz * 1.08], [1, hertz * 0.85]),
    level: through([0, 0], [0.1, 1], [0.8, 0.75], [1, 0]),
    formants: [
      { hertz: steady(820), q: 2.5, level: 1.4 },
      { hertz: steady(1750), q: 3.5, level: 1 },
      { hertz: steady(2900), q: 4, level: 0.4 },
    ],
    breath: 0.12,
    roughness: 0.4,
    flutter: { hertz: 8.5, depth: 0.55 },
  });
}

function oink(random: Random, { pitch }: Manner): Take {
  return cry(random, {
    seconds: random.between(0.2, 0.34),
    pitch: through([0, 130 * pitch], [0.6, 170 * pitch], [1, 120 * pitch]),
    level: through([0, 0], [0.1, 1], [0.7, 0.9], [1, 0]),
    formants: [
      { hertz: steady(620), q: 3, level: 1.4 },
      { hertz: steady(1350), q: 4, level: 1 },
    ],
    breath: 0.45,
    roughness: 1,
    flutter: { hertz: 48, depth: 0.7 },
  });
}

function neigh(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 900 * pitch, 0.06);
  return cry(random, {
    seconds: random.between(1.5, 2),
    pitch: through([0, hertz * 0.6], [0.12, hertz * 1.25], [0.5, hertz * 0.95], [1, hertz * 0.4]),
    level: through([0, 0], [0.1, 1], [0.6, 0.8], [1, 0]),
    formants: [
      { hertz: steady(1200), q: 2, level: 1.2 },
      { hertz: steady(2500), q: 3, level: 0.9 },
      { hertz: steady(700), q: 3, level: 0.6 },
    ],
    breath: 0.14,
    roughness: 0.4,
    vibrato: { hertz: 12.5, depth: 0.06 },
    flutter: { hertz: 12.5, depth: 0.45 },
  });
}

/** Four hooves in the order of a gallop: three close together, then a moment in the air. */
function gallop(random: Random, { surface, weight, pace }: Manner): Take {
  const isHard = surface === 'stone' || surface === 'wood' || surface === 'metal';
  const whole = new Float32Array(samplesIn(0.62 / pace));
  for (const [index, at] of [0, 0.105, 0.2].entries()) {
    const body = about(random, isHard ? 780 : 95, 0.1);
    const thump = tone(
      0.12,
      (position) => body * (isHard ? 1 : 1.5 - 6 * position),
      struck(0.002, isHard ? 0.06 : 0.12),
    );
    const dirt = filtered(
      burst(0.06, whiteNoise(random), struck(0.001, 0.05)),
      bandPass(RATE, isHard ? 2200 : 700, 0.8),
    );
    addAt(whole, together([thump, 0, weight], [dirt, 0, 0.6]), at / pace, [0.75, 0.85, 1][index] ?? 1);
  }
  return whole;
}

/** A lion, a dragon, any monster: a chest several metres wide, and a barely perceptible pitch. */
function roar(random: Random, { pitch, weight }: Manner): Take {
  const seconds = random.between(2, 2.9);
  const size = Math.sqrt(pitch / weight);
  const low = cry(random.fork('low'), {
    seconds,
    pitch: through([0, 62 * pitch], [0.25, 98 * pitch], [0.6, 84 * pitch], [1, 48 * pitch]),
    level: through([0, 0], [0.12, 1], [0.65, 0.9], [1, 0]),
    formants: [
      { hertz: through([0, 260 * size], [0.3, 620 * size], [1, 300 * size]), q: 1.6, level: 1.6 },
      { hertz: through([0, 800 * size], [0.3, 1300 * size], [1, 760 * size]), q: 2, level: 1 },
      { hertz: steady(2400 * size), q: 2.5, level: 0.35 },
    ],
    breath: 0.38,
    roughness: 1,
    flutter: { hertz: 31, depth: 0.6 },
  });
  const under = tone(
    seconds,
    (at) => 44 * pitch + 6 * Math.sin(at * 3),
    (at) => 0.7 * swelling(seconds * 0.3, seconds * 0.7)(at),
  );
  return driven(together([low, 0, 1.6], [under]), 1.8);
}

/** An unreal creature: wet clicks, a hiss, a low voice that bends. */
function creature(random: Random, manner: Manner): Take {
  const hiss = cry(random.fork('hiss'), {
    seconds: 1.3,
    pitch: steady(180 * manner.pitch),
    level: through([0, 0], [0.4, 1], [1, 0]),
    formants: [
      { hertz: through([0, 2400], [1, 4300]), q: 1.5, level: 1 },
      { hertz: steady(6500), q: 2, level: 0.6 },
    ],
    breath: 0.97,
  });
  const voice = cry(random.fork('voice'), {
    seconds: random.between(1.2, 2),
    pitch: through([0, 120 * manner.pitch], [0.4, 60 * manner.pitch], [1, 150 * manner.pitch]),
    level: through([0, 0], [0.3, 1], [1, 0]),
    formants: [
      { hertz: through([0, 700], [0.5, 350], [1, 900]), q: 5, level: 2 },
      { hertz: through([0, 1100], [0.5, 1900], [1, 1200]), q: 6, level: 1.4 },
    ],
    breath: 0.25,
    roughness: 1,
    flutter: { hertz: 17, depth: 0.85 },
  });
  return driven(together([voice, 0, 1.5], [hiss, 0.5, 0.2]), 1.5);
}

function snakeHiss(random: Random): Take {
  const hiss = burst(1.6, whiteNoise(random), (at) => swelling(0.3, 1.3)(at));
  return filtered(hiss, bandPass(RATE, 6200, 0.7));
}

export const BEASTS: readonly Thing[] = [
  {
    names: ['dog', 'bark', 'barking', 'puppy', 'dog barking', 'hound', 'woof'],
    strike: bark,
    rhythm: { every: [0.9, 2], group: [2, 4], gap: [0.28, 0.42], isFixed: true },
    naturalSeconds: 3,
  },
  { names: ['growl', 'growling', 'snarl', 'bear'], strike: growl, rhythm: { every: [2.2, 3.2] }, naturalSeconds: 3 },
  {
    names: ['cat', 'meow', 'kitten', 'miaow', 'mewing'],
    strike: meow,
    rhythm: { every: [1.5, 2.8] },
    naturalSeconds: 2.5,
  },
  {
    names: ['purr', 'purring', 'cat purring'],
    strike: purr,
    rhythm: { every: [1.45, 1.55], isFixed: true },
    naturalSeconds: 4,
    wet: 0.03,
  },
  {
    names: ['wolf', 'howl', 'wolves', 'werewolf', 'coyote'],
    strike: howl,
    rhythm: { every: [2.6, 4.6] },
    spread: 0.8,
    wet: 0.6,
    room: 'canyon',
    naturalSeconds: 4,
  },
  { names: ['cow', 'moo', 'cattle', 'bull'], strike: moo, rhythm: { every: [2.4, 4] }, spread: 0.6, naturalSeconds: 3 },
  {
    names: ['sheep', 'lamb', 'goat', 'baa', 'bleating'],
    strike: baa,
    rhythm: { every: [1, 2.4] },
    spread: 0.7,
    naturalSeconds: 3,
  },
  {
    names: ['pig', 'oink', 'hog', 'boar'],
    strike: oink,
    rhythm: { every: [0.4, 1.2], group: [1, 3], gap: [0.3, 0.4] },
    naturalSeconds: 2.5,
  },
  { names: ['horse', 'neigh', 'whinny', 'pony'], strike: neigh, rhythm: { every: [2.6, 4] }, naturalSeconds: 2.5 },
  {
    names: ['gallop', 'galloping', 'horse galloping', 'hoof', 'hooves', 'hoofbeats', 'horses running', 'trotting'],
    strike: gallop,
    rhythm: { every: [0.56, 0.6], isFixed: true },
    naturalSeconds: 4,
  },
  {
    names: ['lion', 'roar', 'tiger', 'dragon', 'dinosaur', 'monster', 'beast', 'godzilla', 'demon', 'troll'],
    strike: roar,
    rhythm: { every: [3, 4.4] },
    wet: 0.35,
    naturalSeconds: 3,
  },
  {
    names: ['creature', 'alien creature', 'zombie', 'ghoul', 'swamp thing', 'alien'],
    strike: creature,
    rhythm: { every: [2.2, 3.4] },
    wet: 0.35,
    naturalSeconds: 3,
    room: 'cave',
  },
  { names: ['snake', 'hiss', 'hissing'], strike: snakeHiss, rhythm: { every: [2, 3] }, naturalSeconds: 2 },
];

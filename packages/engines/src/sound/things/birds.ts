/** Birds by their songs and calls. */
import type { Random } from '@darkroom/seeded-random/random';
import { filtered, lowPass } from '../signal/biquad.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  fadingOut,
  samplesIn,
  shaped,
  sine,
  swelling,
  through,
  together,
  tone,
  triangle,
} from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';
import { cry, steady } from './throat.ts';

const RATE = SAMPLE_RATE;

/** A whistled note that glides. */
function note(from: number, to: number, seconds: number, level: number): Float32Array {
  const whistle = tone(
    seconds,
    (at) => from + ((to - from) * at) / seconds,
    (at) => level * swelling(seconds * 0.3, seconds * 0.7)(at),
  );
  // A trace of the octave, because a bird's throat is not a flute.
  return together(
    [whistle],
    [
      tone(
        seconds,
        (at) => 2 * (from + ((to - from) * at) / seconds),
        (at) => 0.08 * level * swelling(seconds * 0.3, seconds * 0.7)(at),
      ),
    ],
  );
}

type Song = (random: Random, hertz: number) => Float32Array;

/** The ways in which the small birds of a garden sing. */
const SONGS: readonly [Song, ...Song[]] = [
  // A trill: one fast note many times.
  (random, hertz) => {
    const song = new Float32Array(samplesIn(1.6));
    const [gap, length] = [random.between(0.052, 0.085), random.between(0.03, 0.05)];
    const count = random.integer(7, 15);
    for (let index = 0; index < count; index++)
      addAt(song, note(hertz * 1.25, hertz * 0.85, length, 0.4 + (0.6 * index) / count), index * gap);
    return song;
  },
  // Slow pure whistles, each on its own pitch.
  (random, hertz) => {
    const song = new Float32Array(samplesIn(2));
    let at = 0;
    for (let index = random.integer(3, 5); index > 0; index--) {
      const length = random.between(0.12, 0.3);
      const from = hertz * random.pick([0.67, 0.75, 0.89, 1, 1.12]);
      addAt(song, note(from, from * random.between(0.93, 1.08), length, 0.9), at);
      at += length + random.between(0.03, 0.12);
    }
    return song;
  },
  // Chirps up and down, like sparrows.
  (random, hertz) => {
    const song = new Float32Array(samplesIn(1.8));
    let at = 0;
    for (let index = random.integer(2, 5); index > 0; index--) {
      const top = about(random, hertz * 1.3, 0.1);
      addAt(song, note(hertz * 0.8, top, 0.045, 0.9), at);
      addAt(song, note(top, hertz * 0.7, 0.065, 0.9), at + 0.04);
      at += random.between(0.18, 0.34);
    }
    return song;
  },
  // A warble that never repeats.
  (random, hertz) => {
    const song = new Float32Array(samplesIn(2.2));
    let at = 0;
    let from = hertz;
    for (let index = random.integer(8, 14); index > 0; index--) {
      const to = Math.min(Math.max(from * random.between(0.7, 1.45), hertz * 0.6), hertz * 1.6);
      const length = random.between(0.05, 0.15);
      addAt(song, note(from, to, length, random.between(0.5, 1)), at);
      at += length * random.between(0.85, 1.15);
      from = to;
    }
    return song;
  },
];

/** One phrase of one of several birds; each of them keeps its own song and pitch. */
function birdsong(random: Random, { pitch }: Manner, turn: number): Take {
  const bird = (turn * 7 + random.integer(0, 2)) % 5;
  const song = SONGS[bird % SONGS.length] ?? SONGS[0];
  const hertz = [3300, 2500, 4100, 2900, 5200][bird] ?? 3000;
  return shaped(song(random, about(random, hertz * pitch, 0.04)), steady(random.between(0.4, 1)));
}

function crow(random: Random, { pitch }: Manner): Take {
  const pitchHertz = about(random, 430 * pitch, 0.06);
  return cry(random, {
    seconds: random.between(0.32, 0.45),
    pitch: through([0, pitchHertz * 0.9], [0.25, pitchHertz * 1.1], [1, pitchHertz * 0.75]),
    level: through([0, 0], [0.1, 1], [0.7, 0.85], [1, 0]),
    formants: [
      { hertz: through([0, 1100], [0.3, 1450], [1, 1150]), q: 3, level: 1.6 },
      { hertz: steady(2400), q: 4, level: 0.8 },
      { hertz: steady(4200), q: 4, level: 0.3 },
    ],
    breath: 0.3,
    roughness: 1,
    flutter: { hertz: 68, depth: 0.55 },
  });
}

/** The long cries of a gull, falling, one after the other. */
function gull(random: Random, { pitch }: Manner): Take {
  const cries = random.integer(2, 5);
  const whole = new Float32Array(samplesIn(0.75 * cries + 0.8));
  let at = 0;
  for (let index = 0; index < cries; index++) {
    const seconds = (index === 0 ? 0.75 : 0.42) * random.between(0.85, 1.15);
    const top = about(random, 1150 * pitch, 0.06) * (1 - 0.03 * index);
    addAt(
      whole,
      cry(random.fork(`cry ${index}`), {
        seconds,
        pitch: through([0, top * 0.72], [0.2, top], [0.6, top * 0.95], [1, top * 0.62]),
        level: through([0, 0], [0.12, 1], [0.75, 0.8], [1, 0]),
        formants: [
          { hertz: steady(1500), q: 2.5, level: 1.2 },
          { hertz: steady(3100), q: 3, level: 1 },
          { hertz: steady(4600), q: 4, level: 0.35 },
        ],
        breath: 0.06,
        roughness: 0.25,
        vibrato: { hertz: 9, depth: 0.012 },
      }),
      at,
    );
    at += seconds * 0.95 + 0.04;
  }
  return whole;
}

function owl(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 370 * pitch, 0.03);
  const hoot = (seconds: number, level: number): Float32Array =>
    together(
      [
        tone(
          seconds,
          (at) => hertz * (1 + 0.05 * Math.sin((Math.PI * at) / seconds)),
          (at) => level * swelling(seconds * 0.35, seconds * 0.65)(at),
          sine,
        ),
      ],
      [
        tone(
          seconds,
          (at) => 2 * hertz * (1 + 0.05 * Math.sin((Math.PI * at) / seconds)),
          (at) => 0.09 * level * swelling(seconds * 0.35, seconds * 0.65)(at),
          sine,
        ),
      ],
    );
  return together([hoot(0.55, 0.9)], [hoot(0.16, 0.5), 1.15], [hoot(0.14, 0.55), 1.4], [hoot(0.8, 1), 1.68]);
}

function cuckoo(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 668 * pitch, 0.01);
  const call = (of: number, seconds: number): Float32Array =>
    tone(seconds, of, (at) => swelling(seconds * 0.25, seconds * 0.75)(at), triangle);
  // A third down.
  return filtered(together([call(hertz, 0.2)], [call(hertz * 0.81, 0.34), 0.31]), lowPass(RATE, 1500));
}

function rooster(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 620 * pitch, 0.04);
  const syllable = (seconds: number, from: number, top: number, to: number, turn: number): Float32Array =>
    cry(random.fork(`syllable ${turn}`), {
      seconds,
      pitch: through([0, hertz * from], [0.3, hertz * top], [1, hertz * to]),
      level: through([0, 0], [0.08, 1], [0.8, 0.8], [1, 0]),
      formants: [
        { hertz: steady(1250), q: 2, level: 1.3 },
        { hertz: steady(2700), q: 3, level: 0.8 },
      ],
      breath: 0.12,
      roughness: 0.45,
    });
  return together(
    [syllable(0.18, 0.8, 1.05, 1, 0)],
    [syllable(0.14, 1, 1.15, 1.1, 1), 0.24],
    [syllable(0.22, 1.1, 1.45, 1.35, 2), 0.42],
    [syllable(0.95, 1.25, 1.5, 0.75, 3), 0.68],
  );
}

function duck(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 235 * pitch, 0.06);
  return cry(random, {
    seconds: random.between(0.18, 0.26),
    pitch: through([0, hertz * 1.15], [0.4, hertz], [1, hertz * 0.8]),
    level: through([0, 0], [0.08, 1], [0.6, 0.8], [1, 0]),
    formants: [
      { hertz: steady(1150), q: 4, level: 1.5 },
      { hertz: steady(2350), q: 5, level: 1 },
      { hertz: steady(3300), q: 5, level: 0.4 },
    ],
    breath: 0.2,
    roughness: 0.5,
  });
}

function pigeon(random: Random, { pitch }: Manner): Take {
  const hertz = about(random, 480 * pitch, 0.04);
  const coo = (seconds: number, level: number): Float32Array =>
    tone(
      seconds,
      (at) => hertz * (1 + 0.03 * Math.sin(2 * Math.PI * 22 * at)),
      (at) => level * swelling(seconds * 0.4, seconds * 0.6)(at) * (1 - 0.3 * Math.sin(2 * Math.PI * 22 * at)),
    );
  return fadingOut(together([coo(0.3, 0.7)], [coo(0.55, 1), 0.36], [coo(0.25, 0.5), 1]));
}

export const BIRDS: readonly Thing[] = [
  {
    names: [
      'bird',
      'birdsong',
      'songbird',
      'chirping',
      'chirp',
      'tweet',
      'tweeting',
      'dawn chorus',
      'sparrow',
      'robin',
      'canary',
      'nightingale',
      'blackbird',
      'bird singing',
    ],
    strike: birdsong,
    rhythm: { every: [0.25, 1.1] },
    spread: 1,
    naturalSeconds: 5,
    wet: 0.3,
    room: 'forest',
  },
  {
    names: ['crow', 'raven', 'caw', 'cawing'],
    strike: crow,
    rhythm: { every: [1.6, 3.2], group: [2, 4], gap: [0.5, 0.7] },
    spread: 0.6,
    wet: 0.3,
    room: 'forest',
  },
  {
    names: ['seagull', 'gull', 'sea bird', 'seabird'],
    strike: gull,
    rhythm: { every: [2.2, 4.5] },
    spread: 0.9,
    wet: 0.25,
  },
  { names: ['owl', 'hoot', 'hooting'], strike: owl, rhythm: { every: [4, 6.5] }, wet: 0.5, room: 'forest' },
  {
    names: ['cuckoo', 'cuckoo clock'],
    strike: cuckoo,
    rhythm: { every: [1.1, 1.4], isFixed: true },
    wet: 0.45,
    room: 'forest',
  },
  {
    names: ['rooster', 'cock', 'cockerel', 'cock crowing'],
    strike: rooster,
    rhythm: { every: [3.2, 5] },
    wet: 0.3,
    naturalSeconds: 2.5,
  },
  {
    names: ['duck', 'quack', 'goose', 'geese'],
    strike: duck,
    rhythm: { every: [0.9, 1.8], group: [2, 5], gap: [0.26, 0.36] },
    wet: 0.15,
  },
  { names: ['pigeon', 'dove', 'cooing'], strike: pigeon, rhythm: { every: [1.8, 3] }, wet: 0.25 },
];

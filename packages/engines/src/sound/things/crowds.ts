/** Many people at once: applause, cheers, and unintelligible talk. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, lowPass } from '../signal/biquad.ts';
import { pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import { SAMPLE_RATE, burst, samplesIn, struck, swelling, through, tone } from '../signal/shapes.ts';
import { speak } from '../../speech/speaking.ts';
import type { VoiceName } from '../../speech/voices.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { beds, pooled, swarm } from './grains.ts';
import { steadyHiss } from './hiss.ts';
import { cry, steady } from './throat.ts';

const RATE = SAMPLE_RATE;

/** About two hundred people, who begin one after the other and never keep time. */
function applause(random: Random, { weight, seconds }: Manner): Bed {
  const hands = pooled(random.fork('pool'), 160, () => {
    const hertz = random.between(750, 2600);
    const palm = burst(0.05, whiteNoise(random), struck(0.0008, random.between(0.012, 0.034)));
    return filtered(palm, bandPass(RATE, hertz, random.between(0.9, 2.2))).map(
      (sample) => sample * random.between(0.15, 1) * 1.4,
    );
  });
  const mood = wander(random.fork('mood'), 0.3, 80);
  let text = 0;
  const rise = Math.min(1.6, seconds * 0.2);
  return beds(
    swarm(
      random.fork('hands'),
      () => {
        text += 1 / 400;
        return 420 * weight * (1 + 0.2 * mood()) * Math.min(1, 0.25 + text / rise);
      },
      hands,
    ),
    swarm(
      random.fork('whistles'),
      () => 0.16 * weight,
      () => {
        const hertz = random.between(1900, 2700);
        return tone(
          0.45,
          through([0, hertz * 0.8], [0.15, hertz * 1.15], [0.45, hertz * 0.95]),
          (at) => 0.22 * swelling(0.15, 0.3)(at),
        );
      },
    ),
  );
}

function cheer(random: Random, { pitch }: Manner): Take {
  const hertz = random.between(260, 520) * pitch;
  return cry(random, {
    seconds: random.between(0.9, 1.8),
    pitch: through([0, hertz * 0.9], [0.3, hertz * 1.25], [1, hertz]),
    level: through([0, 0], [0.15, 1], [0.7, 0.8], [1, 0]),
    formants: [
      { hertz: steady(750), q: 4, level: 1.4 },
      { hertz: steady(1250), q: 5, level: 0.9 },
      { hertz: steady(2700), q: 5, level: 0.4 },
    ],
    breath: 0.2,
    roughness: 0.5,
  });
}

/** The talk of people in a café: each piece is too short to be understood. */
const TALK: readonly (readonly [string, VoiceName, number])[] = [
  ['well I told her it was not going to be like that again this year', 'slt', 0],
  ['and then they moved the whole thing over to the other side of town', 'rms', 1],
  ['so how long are you staying with us this time around', 'awb', -1],
  ['oh really no I had no idea about any of that at all', 'slt', 3],
  ['the weather has been lovely and we were out in the garden', 'kal', 0],
  ['could you pass me that one over there please thank you', 'rms', -2],
];

/** Pieces of talk of a syllable or two, at `SAMPLE_RATE`. */
function syllables(): Float32Array[] {
  return TALK.flatMap(([text, voice, pitch]) => {
    const { samples, sampleRate, phones } = speak(text, voice, { pitch });
    const spoken = phones.filter((phone) => phone.name !== 'pau');
    const step = sampleRate / SAMPLE_RATE;
    return spoken.flatMap((phone, index) => {
      if (index % 4 !== 0) return [];
      const end = spoken[Math.min(index + 5, spoken.length - 1)]?.end ?? phone.end;
      const piece = new Float32Array(samplesIn(Math.min(end - phone.start, 0.48)));
      for (let at = 0; at < piece.length; at++) {
        const position = phone.start * sampleRate + at * step;
        const whole = Math.floor(position);
        const sample = (samples[whole] ?? 0) * (1 - position + whole) + (samples[whole + 1] ?? 0) * (position - whole);
        piece[at] = sample * Math.min(1, at / 500, (piece.length - at) / 900);
      }
      return [filtered(piece, lowPass(RATE, 5200), lowPass(RATE, 5200))];
    });
  });
}

/** A room full of people who talk at once. */
function crowd(random: Random, { weight, pace }: Manner): Bed {
  const pieces = syllables();
  const mood = wander(random.fork('mood'), 0.4, 40);
  const pick = random.fork('pick');
  const speaker = (): Float32Array => {
    const piece = pieces[Math.floor(pick.next() * pieces.length)] ?? new Float32Array(1);
    const gain = pick.next() ** 1.8;
    return piece.map((sample) => sample * gain);
  };
  return beds(
    swarm(random.fork('talk'), () => 46 * weight * pace * (1 + 0.25 * mood()), speaker),
    steadyHiss(random.fork('murmur'), pinkNoise, [bandPass(RATE, 420, 0.7)], 0.05),
  );
}

export const CROWDS: readonly Thing[] = [
  {
    names: [
      'crowd',
      'people',
      'people talking',
      'chatter',
      'murmur',
      'talking',
      'conversation',
      'voices',
      'party',
      'crowd murmur',
      'market',
    ],
    bed: crowd,
    spread: 1,
    naturalSeconds: 5,
    room: 'room',
    wet: 0.35,
  },
  {
    names: ['applause', 'clapping', 'audience', 'ovation', 'crowd clapping', 'crowd applause'],
    bed: applause,
    spread: 1,
    naturalSeconds: 5,
    room: 'hall',
    wet: 0.3,
  },
  {
    names: ['crowd cheering', 'cheering', 'cheer', 'stadium', 'sports crowd', 'goal'],
    bed: applause,
    strike: cheer,
    rhythm: { every: [0.09, 0.3] },
    bedLevel: 7,
    level: -8,
    spread: 1,
    naturalSeconds: 5,
    room: 'hall',
    wet: 0.5,
  },
];

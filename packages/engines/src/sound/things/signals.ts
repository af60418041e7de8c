/** The sounds of screens, programs and games. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, lowPass } from '../signal/biquad.ts';
import { whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  addAt,
  burst,
  buzz,
  gliding,
  ringing,
  samplesIn,
  sine,
  square,
  struck,
  swelling,
  swept,
  together,
  tone,
  triangle,
} from '../signal/shapes.ts';
import type { Wave } from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';

const RATE = SAMPLE_RATE;

/** A robot that thinks aloud. */
export function robot(random: Random, { pitch, pace }: Manner): Take {
  const words = random.integer(4, 9);
  const whole = new Float32Array(samplesIn((words * 0.16) / pace + 0.3));
  let at = 0;
  for (let index = 0; index < words; index++) {
    const seconds = random.between(0.04, 0.17) / pace;
    const from = random.between(420, 2300) * pitch;
    const to = random.chance(0.5) ? from : from * random.between(0.6, 1.7);
    const wave: Wave = random.pick([sine, triangle, square] as const);
    const warble = random.chance(0.3) ? random.between(18, 40) : 0;
    addAt(
      whole,
      tone(
        seconds,
        (position) =>
          (from + ((to - from) * position) / seconds) * (1 + 0.14 * Math.sin(2 * Math.PI * warble * position)),
        (position) => 0.6 * Math.min(1, position / 0.004, (seconds - position) / 0.006),
        wave,
      ),
      at,
    );
    at += seconds + random.between(0, 0.05) / pace;
  }
  return filtered(whole, lowPass(RATE, 7500));
}

/** Notes one after the other, as notification sounds. `steps` in semitones above `hertz`, `gap` in seconds. */
function signal(
  hertz: number,
  steps: readonly number[],
  gap: number,
  ring: number,
  wave: 'bell' | 'soft' | 'square',
): (random: Random, manner: Manner) => Take {
  return (_random, { pitch, pace }) => {
    const whole = new Float32Array(samplesIn((steps.length * gap) / pace + ring + 0.1));
    for (const [index, step] of steps.entries()) {
      const of = hertz * pitch * 2 ** (step / 12);
      const note =
        wave === 'bell'
          ? ringing(
              ring,
              [
                { hertz: of, level: 1, decay: ring },
                { hertz: of * 2, level: 0.3, decay: ring * 0.6 },
                { hertz: of * 3.01, level: 0.12, decay: ring * 0.3 },
              ],
              0.002,
            )
          : tone(
              ring,
              of,
              (at) => struck(0.004, ring)(at) * Math.min(1, (ring - at) / 0.01),
              wave === 'soft' ? triangle : square,
            );
      addAt(whole, note, (index * gap) / pace, 0.6);
    }
    return filtered(whole, lowPass(RATE, 11_000));
  };
}

export function click(random: Random, { pitch, weight }: Manner): Take {
  const tip = tone(0.03, gliding(2600 * pitch, 1700 * pitch, 0.02), struck(0.0008, 0.024));
  return together(
    [tip, 0, 0.8 * weight],
    [filtered(burst(0.008, whiteNoise(random), struck(0.0002, 0.005)), bandPass(RATE, 4200 * pitch, 1)), 0, 0.5],
  );
}

/** Two thick, dissonant notes that signal rejection. */
function rejection(_random: Random, { pitch }: Manner): Take {
  const note = (seconds: number): Float32Array =>
    filtered(
      together(
        [tone(seconds, 155.6 * pitch, (at) => Math.min(1, at / 0.004, (seconds - at) / 0.01), square)],
        [tone(seconds, 164.8 * pitch, (at) => Math.min(1, at / 0.004, (seconds - at) / 0.01), square)],
      ),
      lowPass(RATE, 2600),
    );
  return together([note(0.14)], [note(0.3), 0.19]);
}

function power(isUp: boolean): (random: Random, manner: Manner) => Take {
  return (random, { pitch }) => {
    const seconds = 1.6;
    const [from, to] = isUp ? [55, 880] : [760, 34];
    const level = isUp ? swelling(seconds * 0.88, seconds * 0.12) : struck(0.01, seconds * 1.4);
    const main = tone(seconds, gliding(from * pitch, to * pitch, seconds), level, buzz);
    const fifth = tone(seconds, gliding(from * 1.503 * pitch, to * 1.503 * pitch, seconds), level, triangle);
    const air = swept(
      burst(seconds, whiteNoise(random), level),
      (hertz) => bandPass(RATE, hertz, 2),
      (at) => (isUp ? 300 + 5200 * (at / seconds) ** 2 : 5000 * (1 - at / seconds) ** 2 + 120),
    );
    return filtered(together([main, 0, 0.6], [fifth, 0, 0.4], [air, 0, 0.5]), lowPass(RATE, 7000));
  };
}

/** Samples that get stuck. */
function glitch(random: Random, { pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(0.9));
  let at = 0;
  while (at < 0.8) {
    const length = random.pick([0.012, 0.02, 0.035, 0.06] as const);
    const piece = random.chance(0.5)
      ? tone(length, random.between(80, 4200) * pitch, () => 0.6, square)
      : burst(length, whiteNoise(random), () => 0.6);
    for (let repeat = random.integer(1, 6); repeat > 0 && at < 0.8; repeat--) {
      addAt(whole, piece, at, random.chance(0.85) ? 1 : 0);
      at += length;
    }
    at += random.chance(0.3) ? random.between(0.02, 0.1) : 0;
  }
  // Quantised to a few steps.
  return whole.map((sample) => Math.round(sample * 7) / 7);
}

/** One rising note: a small character jumps. */
function jump(_random: Random, { pitch }: Manner): Take {
  return filtered(tone(0.3, gliding(260 * pitch, 880 * pitch, 0.26), struck(0.002, 0.4), square), lowPass(RATE, 6500));
}

function hologram(random: Random, manner: Manner): Take {
  return together(
    [robot(random, { ...manner, pace: 1.6 }) as Float32Array, 0, 0.5],
    [click(random, manner) as Float32Array],
    [tone(0.5, gliding(1400, 2800, 0.4), swelling(0.1, 0.4)), 0.05, 0.3],
  );
}

export const SIGNALS: readonly Thing[] = [
  {
    names: ['robot', 'android', 'computer', 'droid', 'cyborg'],
    strike: robot,
    rhythm: { every: [1.2, 2] },
    naturalSeconds: 2.5,
    room: 'room',
    wet: 0.25,
  },
  {
    names: ['hologram', 'interface', 'hud', 'scanner beep'],
    strike: hologram,
    rhythm: { every: [1, 1.8] },
    naturalSeconds: 2,
    room: 'hall',
  },
  {
    names: ['ui click', 'click', 'button', 'button click', 'tap', 'menu click', 'ui', 'button press'],
    strike: click,
    rhythm: { every: [0.7, 1.2], isFixed: true },
    naturalSeconds: 0.8,
    wet: 0.05,
    room: 'room',
  },
  {
    names: ['notification', 'message', 'chime notification', 'alert', 'ping', 'email', 'text message'],
    strike: signal(1318.5, [0, 7], 0.11, 0.9, 'bell'),
    rhythm: { every: [1.8, 2.6], isFixed: true },
    naturalSeconds: 1.4,
    wet: 0.2,
    room: 'hall',
  },
  {
    names: [
      'success',
      'correct',
      'complete',
      'win',
      'victory',
      'achievement',
      'level up',
      'level complete',
      'tada',
      'reward',
      'right answer',
    ],
    strike: signal(523.3, [0, 4, 7, 12, 16], 0.09, 0.9, 'bell'),
    rhythm: { every: [2, 2.8], isFixed: true },
    naturalSeconds: 1.6,
    wet: 0.3,
    room: 'hall',
  },
  {
    names: ['error', 'wrong', 'fail', 'failure', 'denied', 'wrong answer', 'buzzer', 'incorrect'],
    strike: rejection,
    rhythm: { every: [1.4, 2], isFixed: true },
    naturalSeconds: 1,
    wet: 0.1,
    room: 'room',
  },
  {
    names: ['game over', 'lose', 'losing', 'sad trombone', 'defeat'],
    strike: signal(392, [0, -1, -2, -3, -8], 0.24, 0.5, 'square'),
    rhythm: { every: [2.6, 3.2], isFixed: true },
    naturalSeconds: 2,
    wet: 0.2,
    room: 'hall',
  },
  {
    names: ['coin pickup', 'collect', 'pickup', 'retro coin', 'arcade coin', '8 bit coin', 'video game coin', 'bonus'],
    strike: signal(987.8, [0, 5], 0.08, 0.45, 'square'),
    rhythm: { every: [0.9, 1.4], isFixed: true },
    naturalSeconds: 1,
    wet: 0.1,
  },
  {
    names: ['jump', 'boing', 'retro jump', 'video game jump', 'hop', 'bounce'],
    strike: jump,
    rhythm: { every: [0.8, 1.3] },
    naturalSeconds: 0.9,
    wet: 0.1,
  },
  {
    names: ['arcade', 'video game', '8 bit', '8bit', 'chiptune', 'retro game', 'game'],
    strike: signal(659.3, [0, 3, 7, 12, 10, 7, 15], 0.075, 0.16, 'square'),
    rhythm: { every: [0.8, 1.1] },
    naturalSeconds: 2.5,
    wet: 0.1,
  },
  {
    names: ['power up', 'powering up', 'charge', 'charging', 'boot up', 'startup', 'activate', 'charging up'],
    strike: power(true),
    rhythm: { every: [2.2, 3] },
    naturalSeconds: 2,
    wet: 0.25,
    room: 'hall',
  },
  {
    names: ['power down', 'powering down', 'shutdown', 'shut down', 'deactivate', 'blackout'],
    strike: power(false),
    rhythm: { every: [2.4, 3.2] },
    naturalSeconds: 2,
    wet: 0.25,
    room: 'hall',
  },
  {
    names: ['glitch', 'digital noise', 'malfunction', 'corrupted', 'hacking', 'hacker'],
    strike: glitch,
    rhythm: { every: [0.9, 1.7] },
    spread: 0.7,
    naturalSeconds: 2,
    wet: 0.1,
  },
];

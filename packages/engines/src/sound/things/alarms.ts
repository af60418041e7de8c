/** Sounds that call and warn: clocks, telephones, sirens and horns. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, filtered, highPass, lowPass } from '../signal/biquad.ts';
import { pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  addAt,
  burst,
  buzz,
  fallingIn,
  ringing,
  samplesIn,
  sine,
  square,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Wave } from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { centred } from './grains.ts';
import { hammered } from './chimes.ts';

const RATE = SAMPLE_RATE;

/** Tick and tock: the two sides of an escapement in its case of wood. */
function tick(random: Random, { pitch, weight }: Manner, turn: number): Take {
  const hertz = (turn % 2 === 0 ? 2450 : 1950) * pitch;
  const wheel = ringing(0.09, [
    { hertz, level: 1, decay: 0.05 },
    { hertz: hertz * 1.63, level: 0.6, decay: 0.03 },
    { hertz: hertz * 2.71, level: 0.4, decay: 0.02 },
  ]);
  const chest = ringing(0.12, [
    { hertz: 310 * pitch, level: 0.5 * weight, decay: 0.08 },
    { hertz: 560 * pitch, level: 0.3 * weight, decay: 0.06 },
  ]);
  return together(
    [wheel, 0, 0.6],
    [chest],
    [filtered(burst(0.006, whiteNoise(random), fallingIn(0.004)), highPass(RATE, 3000)), 0, 0.5],
  );
}

function alarmClock(random: Random, { pace, pitch }: Manner): Take {
  return hammered([2350 * pitch, 2620 * pitch], 23 * pace)(random, 2.6);
}

/** The telephone of old films: rings, and waits. */
function telephone(random: Random, { pitch }: Manner): Take {
  return hammered([1180 * pitch, 1490 * pitch], 24)(random, 1.7);
}

/** A mobile phone: a little marimba tune, twice. */
function mobile(random: Random, { pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(2.4));
  const tune = [12, 16, 19, 16, 24, 19];
  for (let turn = 0; turn < tune.length * 2; turn++) {
    const hertz = 523.3 * pitch * 2 ** ((tune[turn % tune.length] ?? 0) / 12);
    addAt(
      whole,
      ringing(0.5, [
        { hertz, level: 1, decay: 0.4 },
        { hertz: hertz * 3.93, level: 0.35, decay: 0.08 },
      ]),
      turn * 0.15,
      0.6 * random.between(0.9, 1),
    );
  }
  return whole;
}

/** Four short tones and a pause: a digital clock, a bomb, a hospital. */
function beeps(hertz: number, count: number, gap: number, wave: Wave): (random: Random, manner: Manner) => Take {
  return (_random, { pitch, pace }) => {
    const whole = new Float32Array(samplesIn((count * gap) / pace + 0.1));
    for (let index = 0; index < count; index++) {
      const seconds = (gap * 0.55) / pace;
      const beep = tone(seconds, hertz * pitch, (at) => Math.min(1, at / 0.003, (seconds - at) / 0.004), wave);
      addAt(whole, filtered(beep, lowPass(RATE, 9000)), (index * gap) / pace, 0.6);
    }
    return whole;
  };
}

/** A tone that climbs and falls for ever. `swing` gives the pitch by the second. */
function siren(
  swing: (at: number, pace: number) => number,
  roughness: number,
): (random: Random, manner: Manner) => Bed {
  return (random, { pitch, pace }) => {
    const horn = [new Biquad(bandPass(RATE, 1500, 0.6)), new Biquad(lowPass(RATE, 5200))];
    const unsteady = wander(random, 1.5, RATE);
    let [phase, index] = [0, 0];
    return centred((samples) => {
      for (let position = 0; position < samples.length; position++) {
        const hertz = swing(index / RATE, pace) * pitch * (1 + 0.004 * unsteady());
        phase += hertz / RATE;
        phase -= Math.floor(phase);
        let sample = buzz(phase) + roughness * Math.sin(4 * Math.PI * phase);
        for (const filter of horn) sample = filter.step(sample);
        samples[position] = (samples[position] ?? 0) + sample * 0.5;
        index += 1;
      }
    });
  };
}

/** Wail, and yelp every other ten seconds, as patrol cars change between. */
function policeSwing(at: number, pace: number): number {
  const isYelp = at % 20 > 11;
  const phase = (at * pace * (isYelp ? 3.1 : 0.24)) % 1;
  const rise = phase < 0.55 ? phase / 0.55 : 1 - (phase - 0.55) / 0.45;
  return 620 * 2.35 ** rise;
}

function twoToneSwing(at: number, pace: number): number {
  return (at * pace) % 1.3 < 0.65 ? 435 : 580;
}

/** A rotor that takes seconds to spin up and to spin down. */
function airRaidSwing(at: number, pace: number): number {
  const phase = (at * pace) % 9;
  return phase < 4 ? 180 + 270 * (1 - Math.exp(-phase * 1.1)) : 450 - 250 * (1 - Math.exp(-(phase - 4) * 0.55));
}

function klaxonSwing(at: number, pace: number): number {
  const phase = (at * pace * 1.05) % 1;
  return phase < 0.72 ? 330 + 160 * phase : 1;
}

function evacuationSwing(at: number, pace: number): number {
  return 540 + 560 * ((at * pace * 1.4) % 1);
}

/** Several tones of reeds or of air: horns of cars, trains and ships. */
function hornOf(
  hertz: readonly number[],
  seconds: number,
  darkness: number,
  attack: number,
): (random: Random, manner: Manner) => Take {
  return (random, { pitch, weight }) => {
    const length = seconds * random.between(0.85, 1.15);
    const level = (at: number): number => Math.min(1, at / attack, (length - at) / (attack * 1.5));
    const reeds = hertz.map((base) => {
      const unsteady = wander(random.fork(`reed ${base}`), 5, RATE);
      return [
        tone(
          length,
          (at) => base * pitch * (1 + 0.003 * unsteady()) * (at < attack ? 0.94 + (0.06 * at) / attack : 1),
          (at) => Math.max(0, level(at)),
          buzz,
        ),
        0,
        1 / hertz.length,
      ] as const;
    });
    const air = filtered(
      burst(length, pinkNoise(random), (at) => Math.max(0, level(at)) * 0.12),
      bandPass(RATE, 1800, 0.6),
    );
    return filtered(together(...reeds, [air]), lowPass(RATE, darkness * Math.sqrt(weight)), highPass(RATE, 50));
  };
}

const pulse = beeps(880, 1, 0.28, sine);

export const ALARMS: readonly Thing[] = [
  {
    names: [
      'clock',
      'tick',
      'ticking',
      'clock ticking',
      'watch',
      'tick tock',
      'grandfather clock',
      'metronome',
      'stopwatch',
    ],
    strike: tick,
    rhythm: { every: [0.5, 0.5], isFixed: true },
    naturalSeconds: 4,
    room: 'room',
    wet: 0.2,
  },
  {
    names: ['alarm clock', 'wake up alarm'],
    strike: alarmClock,
    rhythm: { every: [3.2, 3.6], isFixed: true },
    naturalSeconds: 3.5,
    room: 'room',
  },
  {
    names: [
      'telephone',
      'phone',
      'phone ringing',
      'telephone ringing',
      'rotary phone',
      'ringing phone',
      'landline',
      'old phone',
    ],
    strike: telephone,
    rhythm: { every: [3.4, 3.6], isFixed: true },
    naturalSeconds: 3,
    room: 'room',
  },
  {
    names: ['ringtone', 'mobile', 'smartphone', 'cell phone', 'cellphone', 'mobile phone'],
    strike: mobile,
    rhythm: { every: [2.6, 2.8], isFixed: true },
    naturalSeconds: 2.6,
    room: 'room',
  },
  {
    names: ['digital alarm', 'beep', 'beeping', 'timer', 'microwave', 'smoke detector', 'countdown', 'time bomb'],
    strike: beeps(2050, 4, 0.125, square),
    rhythm: { every: [1, 1], isFixed: true },
    naturalSeconds: 3,
    room: 'room',
    wet: 0.12,
  },
  {
    names: ['heart monitor', 'hospital', 'medical monitor', 'ecg', 'life support'],
    strike: pulse,
    rhythm: { every: [0.9, 0.92], isFixed: true },
    naturalSeconds: 4,
    room: 'room',
    wet: 0.15,
  },
  {
    names: ['siren', 'police', 'police siren', 'police car', 'cop car'],
    bed: siren(policeSwing, 0.15),
    naturalSeconds: 6,
    wet: 0.3,
  },
  {
    names: ['ambulance', 'fire engine', 'fire truck', 'emergency vehicle', 'ambulance siren'],
    bed: siren(twoToneSwing, 0.3),
    naturalSeconds: 5,
    wet: 0.3,
  },
  {
    names: ['air raid', 'air raid siren', 'tornado siren', 'civil defence siren', 'warning siren'],
    bed: siren(airRaidSwing, 0.2),
    naturalSeconds: 9,
    wet: 0.45,
    room: 'canyon',
  },
  {
    names: ['klaxon', 'submarine alarm', 'red alert', 'alarm', 'warning', 'buzzer alarm'],
    bed: siren(klaxonSwing, 0.4),
    naturalSeconds: 4,
    wet: 0.3,
    room: 'hall',
  },
  {
    names: ['evacuation', 'fire alarm', 'burglar alarm', 'car alarm', 'security alarm'],
    bed: siren(evacuationSwing, 0.3),
    naturalSeconds: 4,
    wet: 0.25,
    room: 'hall',
  },
  {
    names: ['horn', 'car horn', 'honk', 'honking', 'beeping car', 'truck horn'],
    strike: hornOf([405, 510], 0.5, 5500, 0.015),
    rhythm: { every: [1.4, 2.6], group: [1, 2], gap: [0.65, 0.7] },
    naturalSeconds: 1.6,
    wet: 0.25,
  },
  {
    names: ['train horn', 'train whistle', 'locomotive horn', 'steam whistle'],
    strike: hornOf([311, 370, 415, 494, 622], 1.8, 4200, 0.09),
    rhythm: { every: [3.2, 4.4] },
    naturalSeconds: 3,
    wet: 0.4,
    room: 'canyon',
  },
  {
    names: ['foghorn', 'fog horn', 'ship horn', 'boat horn', 'ship', 'ferry', 'cruise ship'],
    strike: hornOf([73, 97.5], 3.2, 900, 0.22),
    rhythm: { every: [5, 7] },
    naturalSeconds: 5,
    wet: 0.5,
    room: 'canyon',
  },
  {
    names: ['air horn', 'vuvuzela', 'party horn'],
    strike: hornOf([466, 554], 0.9, 8000, 0.03),
    rhythm: { every: [1.4, 2.4] },
    naturalSeconds: 1.5,
    wet: 0.3,
    room: 'hall',
  },
];

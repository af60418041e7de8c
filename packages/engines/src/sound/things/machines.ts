/** Machines in houses and factories: switches and locks, motors, pistons and steam. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, filtered, highPass, lowPass } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  buzz,
  samplesIn,
  square,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Bed, Manner, Take, Thing } from '../thing.ts';
import { beds, centred, pooled, swarm } from './grains.ts';
import { CONTROLS_A_SECOND, hiss, steadyHiss } from './hiss.ts';
import { blow } from './blows.ts';

const RATE = SAMPLE_RATE;

/** A camera: the mirror, the curtain, the mirror again. */
function shutter(random: Random, { pitch }: Manner): Take {
  const part = (hertz: number, level: number): Float32Array =>
    together(
      [blow(random, 'metal', hertz * pitch, 0.6, 0.05), 0, 0.3 * level],
      [
        filtered(burst(0.03, whiteNoise(random), struck(0.0004, 0.022)), bandPass(RATE, hertz * 1.6 * pitch, 0.9)),
        0,
        level,
      ],
    );
  return together([part(1500, 0.8)], [part(2100, 1), 0.045], [part(1300, 0.6), 0.12]);
}

function switchClick(random: Random, { pitch, weight }: Manner): Take {
  return together(
    [blow(random, 'wood', 900 * pitch, weight), 0, 0.6],
    [filtered(burst(0.012, whiteNoise(random), struck(0.0003, 0.008)), bandPass(RATE, 2900 * pitch, 1)), 0, 1],
    [blow(random, 'stone', 1500 * pitch, 0.5), 0.035, 0.4],
  );
}

/** A lock: the bolt, its spring, the key being pulled out. */
function lock(random: Random, { pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(0.7));
  for (let index = 0; index < 6; index++)
    addAt(whole, blow(random, 'metal', about(random, 2600 * pitch, 0.2), 0.4, 0.06), index * 0.028, 0.12);
  addAt(
    whole,
    together([blow(random, 'metal', 880 * pitch, 0.8, 0.12), 0, 0.4], [blow(random, 'wood', 240 * pitch, 1), 0, 0.8]),
    0.24,
    1,
  );
  return whole;
}

/** Blades in the air: the hum of a motor and the moving air. */
function fan(bladeHertz: number, airHertz: number, hum: number): (random: Random, manner: Manner) => Bed {
  return (random, { pitch, pace, weight }) => {
    const speed = wander(random.fork('speed'), 0.4, RATE);
    let [phase, blade] = [0, 0];
    return beds(
      hiss(random.fork('air'), pinkNoise, (own) => {
        const flow = wander(own, 0.8, CONTROLS_A_SECOND);
        return () => ({ filters: [bandPass(RATE, airHertz * pitch, 0.5)], level: 0.3 * weight * (1 + 0.1 * flow()) });
      }),
      centred((samples) => {
        for (let index = 0; index < samples.length; index++) {
          const turn = 1 + 0.01 * speed();
          phase += (118 * pitch * turn) / RATE;
          phase -= Math.floor(phase);
          blade += (bladeHertz * pace * turn) / RATE;
          blade -= Math.floor(blade);
          samples[index] =
            (samples[index] ?? 0) +
            hum * (buzz(phase) * 0.12 + 0.1 * Math.sin(2 * Math.PI * blade) + 0.03 * random.next());
        }
      }),
    );
  };
}

/** A tool with a motor that howls under its load. */
function powerTool(hertz: number, grit: number): (random: Random, manner: Manner) => Bed {
  return (random, { pitch, pace, weight }) => {
    const load = wander(random.fork('load'), 0.7 * pace, RATE);
    const filters = [new Biquad(highPass(RATE, 180)), new Biquad(lowPass(RATE, 7500))];
    let phase = 0;
    let second = 0;
    return centred((samples) => {
      for (let index = 0; index < samples.length; index++) {
        const strain = 0.5 + 0.5 * load();
        phase += (hertz * pitch * (1.12 - 0.28 * strain)) / RATE;
        phase -= Math.floor(phase);
        second += (hertz * pitch * 5.07 * (1.12 - 0.28 * strain)) / RATE;
        second -= Math.floor(second);
        let sample = buzz(phase) * 0.5 + buzz(second) * 0.22 + (random.next() - 0.5) * grit * (0.4 + strain) * weight;
        for (const filter of filters) sample = filter.step(sample);
        samples[index] = (samples[index] ?? 0) + Math.tanh(sample * 1.8) * 0.5;
      }
    });
  };
}

/** A factory hall: the beat of iron, steam in between, a hum below. */
function factory(random: Random, { weight }: Manner): Bed {
  return beds(
    steadyHiss(random.fork('hum'), brownNoise, [bandPass(RATE, 120, 0.9)], 0.9 * weight),
    steadyHiss(random.fork('air'), pinkNoise, [bandPass(RATE, 900, 0.4)], 0.1),
    swarm(
      random.fork('clatter'),
      () => 5,
      pooled(random.fork('pool'), 40, () =>
        blow(random, 'metal', random.between(200, 1400), 0.7)
          .subarray(0, 20_000)
          .map((sample) => sample * 0.12 * random.next()),
      ),
    ),
  );
}

function piston(random: Random, { pitch, weight }: Manner, turn: number): Take {
  const iron = together(
    [blow(random, 'metal', about(random, 190 * pitch, 0.03), weight), 0, 0.5],
    [tone(0.3, 58, struck(0.003, 0.28)), 0, weight],
  );
  const steam = filtered(burst(0.35, whiteNoise(random), swelling(0.05, 0.3)), bandPass(RATE, 4200, 0.7));
  return turn % 2 === 0 ? together([iron]) : together([iron, 0, 0.6], [steam, 0.12, 0.45]);
}

/** Slow gears: ratchets and cogs. */
function ratchet(random: Random, { pitch }: Manner): Take {
  return together(
    [blow(random, 'metal', about(random, 1700 * pitch, 0.05), 0.5, 0.05), 0, 0.5],
    [blow(random, 'wood', 640 * pitch, 0.5), 0, 0.5],
  );
}

function printer(random: Random, { pace }: Manner): Take {
  const seconds = random.between(0.35, 0.6) / pace;
  const hertz = random.pick([420, 480, 560] as const);
  const motor = filtered(
    tone(seconds, hertz, (at) => 0.4 * Math.min(1, at / 0.02, (seconds - at) / 0.02), square),
    bandPass(RATE, 1600, 0.5),
  );
  return together(
    [motor],
    [
      filtered(burst(seconds, whiteNoise(random), swelling(seconds * 0.5, seconds * 0.5)), bandPass(RATE, 3400, 0.8)),
      0,
      0.25,
    ],
    [blow(random, 'wood', 400, 0.5), seconds, 0.4],
  );
}

/** A geyser of steam, an espresso machine, a valve. */
function steam(random: Random, { weight }: Manner): Take {
  const seconds = random.between(1, 1.8);
  const jet = burst(seconds, whiteNoise(random), struck(0.03, seconds * 1.3));
  return swept(
    jet,
    (hertz) => bandPass(RATE, hertz, 0.6),
    (at) => (5200 - 1500 * (at / seconds)) * weight ** 0.2,
  );
}

export const MACHINES: readonly Thing[] = [
  {
    names: ['camera', 'shutter', 'camera shutter', 'photo', 'camera click', 'paparazzi'],
    strike: shutter,
    rhythm: { every: [0.6, 1.5] },
    naturalSeconds: 1,
    room: 'room',
    wet: 0.12,
  },
  {
    names: ['switch', 'light switch', 'lever', 'toggle'],
    strike: switchClick,
    rhythm: { every: [1, 1.8] },
    naturalSeconds: 0.8,
    room: 'room',
  },
  {
    names: ['lock', 'unlock', 'locking', 'door lock', 'bolt', 'safe'],
    strike: lock,
    rhythm: { every: [1.4, 2.4] },
    naturalSeconds: 1.2,
    room: 'room',
    wet: 0.25,
  },
  {
    names: [
      'fan',
      'air conditioner',
      'ventilation',
      'air conditioning',
      'computer fan',
      'server room',
      'fridge',
      'refrigerator',
      'hum',
      'air vent',
    ],
    bed: fan(9, 700, 0.8),
    naturalSeconds: 5,
    spread: 0.8,
    room: 'room',
    wet: 0.1,
  },
  {
    names: ['vacuum', 'vacuum cleaner', 'hoover', 'hair dryer', 'hairdryer', 'leaf blower', 'blender', 'mixer'],
    bed: powerTool(330, 0.6),
    naturalSeconds: 4,
    room: 'room',
    wet: 0.2,
  },
  {
    names: ['drill', 'drilling', 'power drill', 'dentist'],
    bed: powerTool(210, 0.35),
    naturalSeconds: 3,
    room: 'room',
    wet: 0.25,
  },
  {
    names: ['chainsaw', 'saw', 'circular saw', 'lawn mower', 'lawnmower', 'hedge trimmer', 'table saw'],
    bed: powerTool(98, 0.5),
    naturalSeconds: 4,
    wet: 0.12,
  },
  {
    names: ['factory', 'machine', 'machinery', 'industrial', 'assembly line', 'industry'],
    bed: factory,
    strike: piston,
    rhythm: { every: [0.62, 0.62], isFixed: true },
    bedLevel: 2,
    spread: 0.9,
    naturalSeconds: 5,
    room: 'hall',
    wet: 0.35,
  },
  {
    names: ['gear', 'cog', 'ratchet', 'clockwork', 'windup toy', 'gears turning', 'roller coaster'],
    strike: ratchet,
    rhythm: { every: [0.085, 0.095], isFixed: true },
    naturalSeconds: 3,
    room: 'room',
  },
  {
    names: ['printer', 'scanner', 'fax', 'photocopier'],
    strike: printer,
    rhythm: { every: [0.55, 0.75], isFixed: true },
    naturalSeconds: 3,
    room: 'room',
  },
  {
    names: ['steam', 'valve', 'espresso machine', 'coffee machine', 'kettle', 'pressure release', 'geyser', 'spray'],
    strike: steam,
    rhythm: { every: [1.8, 2.8] },
    naturalSeconds: 2,
    room: 'room',
  },
];

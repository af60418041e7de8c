/** Engines by the firing of their cylinders, in cars, lorries, boats and small planes. */
import type { Random } from '@darkroom/seeded-random/random';
import { Biquad, bandPass, lowPass } from '../signal/biquad.ts';
import { pinkNoise, wander } from '../signal/noise.ts';
import { SAMPLE_RATE } from '../signal/shapes.ts';
import type { Bed, Course, Manner, Thing } from '../thing.ts';
import { beds, centred } from './grains.ts';
import { CONTROLS_A_SECOND, hiss } from './hiss.ts';

const RATE = SAMPLE_RATE;

/** The properties of an engine. */
interface Motor {
  /** Turns per second at idle and at full speed. */
  readonly idle: number;
  readonly top: number;
  /** Within one turn: when each cylinder fires, and how strongly. Uneven ones gallop. */
  readonly firings: readonly (readonly [number, number])[];
  /** The exhaust pipe: its resonances, in Hz. */
  readonly pipe: readonly number[];
  readonly roughness: number;
}

const CAR: Motor = {
  idle: 13,
  top: 62,
  firings: [
    [0, 1],
    [0.5, 0.92],
  ],
  pipe: [95, 210, 480],
  roughness: 0.3,
};

const TRUCK: Motor = {
  idle: 9,
  top: 27,
  firings: [
    [0, 1],
    [0.33, 0.9],
    [0.67, 0.96],
  ],
  pipe: [62, 130, 340],
  roughness: 0.6,
};

const MOTORCYCLE: Motor = {
  idle: 12,
  top: 70,
  firings: [
    [0, 1],
    [0.31, 0.85],
  ],
  pipe: [120, 290, 720],
  roughness: 0.8,
};

const RACER: Motor = {
  idle: 45,
  top: 150,
  firings: [
    [0, 1],
    [0.25, 0.95],
    [0.5, 1],
    [0.75, 0.93],
  ],
  pipe: [240, 620, 1500],
  roughness: 0.5,
};

const BOAT: Motor = {
  idle: 11,
  top: 40,
  firings: [
    [0, 1],
    [0.5, 0.8],
  ],
  pipe: [80, 170, 420],
  roughness: 0.5,
};

const SMALL_PLANE: Motor = {
  idle: 18,
  top: 42,
  firings: [
    [0, 1],
    [0.25, 0.9],
    [0.5, 0.97],
    [0.75, 0.88],
  ],
  pipe: [105, 230, 560],
  roughness: 0.35,
};

/** The throttle position, 0 to 1, as the vehicle moves according to the prompt. */
export function throttleOf(
  random: Random,
  course: Course | undefined,
  seconds: number,
  pace: number,
): (at: number) => number {
  const foot = wander(random.fork('foot'), 0.35 * pace, RATE);
  const cruise = course === undefined ? 0.22 : 0.55;
  switch (course) {
    case 'accelerating': {
      // Through the gears: each shift lowers the speed a little.
      const gears = Math.max(1, Math.round(seconds / 2.6));
      return (at) => {
        const gear = Math.min(gears - 1, Math.floor((at / seconds) * gears));
        const within = (at / seconds) * gears - gear;
        return Math.min(
          1,
          0.08 + (gear === 0 ? 0 : 0.3) + (0.95 - (gear === 0 ? 0 : 0.3)) * within ** 0.7 * (1 - 0.04 * gear),
        );
      };
    }
    case 'slowing':
      return (at) => 0.75 * Math.max(0, 1 - at / (seconds * 0.85)) ** 1.3;
    default:
      return () => Math.min(1, Math.max(0, (cruise + 0.12 * foot()) * pace));
  }
}

/** The engine itself: one pulse of hot gas per firing, through the pipe. */
export function engine(motor: Motor): (random: Random, manner: Manner) => Bed {
  return (random, { pitch, pace, weight, course, seconds }) => {
    const throttle = throttleOf(random, course, seconds, pace);
    const pipe = motor.pipe.map((hertz) => new Biquad(bandPass(RATE, hertz * Math.sqrt(pitch), 1.3)));
    const gas = pinkNoise(random.fork('gas'));
    const unsteady = wander(random.fork('unsteady'), 9, RATE);
    const missing = random.fork('missing');
    let [turn, index, force] = [0, 0, 1];
    return centred((samples) => {
      for (let position = 0; position < samples.length; position++) {
        const open = throttle(index / RATE);
        index += 1;
        turn +=
          ((motor.idle + (motor.top - motor.idle) * open) * pitch * (1 + 0.02 * motor.roughness * unsteady())) / RATE;
        if (turn >= 1) {
          turn -= 1;
          force = 1 - motor.roughness * 0.35 * missing.next();
        }
        let push = 0;
        for (const [at, strength] of motor.firings) {
          const since = turn - at - Math.floor(turn - at);
          push += strength * Math.exp(-since * 9 * motor.firings.length) * force;
        }
        const source = (push - 0.25) * (0.75 + 0.3 * gas() * motor.roughness) + gas() * 0.12 * (0.4 + open);
        let sample = source * 0.18;
        for (const [mode, filter] of pipe.entries())
          sample += filter.step(source) * (1.1 - 0.25 * mode + 0.3 * open * mode);
        samples[position] =
          (samples[position] ?? 0) + Math.tanh(sample * (0.9 + 0.9 * open) * weight) * (0.35 + 0.3 * open);
      }
    });
  };
}

/** Tyres and the air they push. */
function rolling(level: number): (random: Random, manner: Manner) => Bed {
  return (random, { weight }) =>
    hiss(random, pinkNoise, (own) => {
      const road = wander(own, 3, CONTROLS_A_SECOND);
      return () => ({
        filters: [bandPass(RATE, 850, 0.45), lowPass(RATE, 4200)],
        level: level * weight * (1 + 0.12 * road()),
      });
    });
}

export function vehicle(motor: Motor, road: number): (random: Random, manner: Manner) => Bed {
  const [run, roll] = [engine(motor), rolling(road)];
  return (random, manner) => {
    const layers = [run(random.fork('engine'), manner)];
    // A stationary car makes no wind.
    if (manner.course !== undefined || manner.pace > 1.2) layers.push(roll(random.fork('road'), manner));
    return beds(...layers);
  };
}

export const ENGINES_ON_WHEELS: readonly Thing[] = [
  {
    names: ['car', 'engine', 'motor', 'car engine', 'engine idling', 'taxi', 'vehicle', 'automobile'],
    bed: vehicle(CAR, 0.22),
    naturalSeconds: 5,
    wet: 0.1,
  },
  {
    names: ['truck', 'lorry', 'bus', 'tractor', 'bulldozer', 'excavator', 'tank', 'diesel', 'generator'],
    bed: vehicle(TRUCK, 0.2),
    naturalSeconds: 5,
    wet: 0.1,
  },
  {
    names: ['motorcycle', 'motorbike', 'harley', 'scooter', 'moped'],
    bed: vehicle(MOTORCYCLE, 0.1),
    naturalSeconds: 5,
    wet: 0.12,
  },
  {
    names: ['race car', 'racing car', 'formula one', 'formula 1', 'sports car', 'supercar'],
    bed: vehicle(RACER, 0.15),
    naturalSeconds: 5,
    wet: 0.15,
  },
  {
    names: ['motorboat', 'boat', 'boat engine', 'speedboat', 'outboard'],
    bed: engine(BOAT),
    naturalSeconds: 5,
    wet: 0.1,
  },
  {
    names: ['propeller plane', 'biplane', 'small plane', 'propeller', 'drone flying', 'quadcopter'],
    bed: engine(SMALL_PLANE),
    naturalSeconds: 5,
    wet: 0.15,
  },
];

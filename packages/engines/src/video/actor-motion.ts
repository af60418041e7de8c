/**
 * How each kind of thing moves: birds glide and beat their wings, boats roll, balloons rise, animals breathe. A motion
 * is a function of time alone, so that any frame can be drawn by itself. Distances are in logical units.
 */
import type { Thing } from '../image/lexicon.ts';

/** The pose of a thing at one moment, relative to how it was painted. */
interface Pose {
  readonly x: number;
  readonly y: number;
  /** How much wider and taller. */
  readonly wide: number;
  readonly tall: number;
  /** To the right at its top, as a fraction of its height. */
  readonly lean: number;
  readonly strength: number;
  /** Its position in a cycle of its limbs, 0 to 1. */
  readonly beat: number;
  /** Whether the part below its foot is hidden: under water. */
  readonly isCutAtFoot: boolean;
}

/** What a motion depends on besides time. */
export interface Mover {
  readonly facing: 1 | -1;
  readonly size: number;
  /** 0 to 1: no two move in step. */
  readonly phase: number;
}

type Motion = (seconds: number, mover: Mover) => Partial<Pose>;

const REST: Pose = { x: 0, y: 0, wide: 1, tall: 1, lean: 0, strength: 1, beat: 0, isCutAtFoot: false };
const { sin, cos, PI } = Math;
/** Things that travel are at their composed position at this second of a shot. */
const MIDDLE_SECONDS = 2.5;

const travel =
  (speed: number, bob = 0): Motion =>
  (seconds, { facing, size, phase }) => ({
    x: facing * speed * (seconds - MIDDLE_SECONDS) * (0.5 + size / 300),
    y: bob * sin(seconds * 1.7 + phase * 6),
  });

const breathe =
  (pace: number, depth = 0.008): Motion =>
  (seconds, { phase }) => ({
    tall: 1 + depth * sin(seconds * pace + phase * 6),
    lean: depth * 0.7 * sin(seconds * pace * 0.37 + phase * 9),
  });

const float =
  (speed: number, roll: number): Motion =>
  (seconds, { facing, size, phase }) => ({
    x: facing * speed * (seconds - MIDDLE_SECONDS),
    y: size * 0.012 * sin(seconds * 1.25 + phase * 6),
    lean: roll * sin(seconds * 0.95 + phase * 6) + roll * 0.4 * sin(seconds * 1.9 + phase * 4),
  });

const MOTIONS: { readonly [Name in Thing]?: Motion } = {
  bird: (seconds, { facing, phase, size }) => {
    // A few beats, then a glide.
    const cycle = (seconds * 0.42 + phase) % 1;
    const isGliding = cycle > 0.62;
    return {
      x: facing * (22 + size * 0.35) * (seconds - MIDDLE_SECONDS),
      y: 7 * sin(seconds * 0.9 + phase * 6) - (isGliding ? 0 : 2 * sin(seconds * 15 + phase * 6)),
      beat: isGliding ? 0.2 : (seconds * 2.4 + phase) % 1,
    };
  },
  eagle: (seconds, { phase }) => {
    const turn = seconds * 0.5 + phase * 6;
    return { x: 70 * sin(turn), y: 16 * cos(turn), wide: 0.62 + 0.38 * Math.abs(cos(turn)), lean: 0.1 * sin(turn) };
  },
  butterfly: (seconds, { phase, facing }) => ({
    x: facing * 12 * (seconds - MIDDLE_SECONDS) + 18 * sin(seconds * 1.3 + phase * 6),
    y: 14 * sin(seconds * 2.1 + phase * 9) + 6 * sin(seconds * 5.3),
    wide: 0.25 + 0.75 * Math.abs(cos(seconds * 8.5 + phase * 6)),
  }),
  plane: travel(64, 2),
  rocket: (seconds) => ({ y: -3 * seconds - 5 * Math.max(0, seconds - 1) ** 1.8, x: 0.7 * sin(seconds * 37) }),
  ufo: (seconds, { phase }) => ({
    x: 34 * sin(seconds * 0.7 + phase * 6),
    y: 9 * sin(seconds * 1.5 + phase * 3),
    lean: 0.08 * cos(seconds * 0.7 + phase * 6),
  }),
  balloon: (seconds, { phase }) => ({
    x: 9 * sin(seconds * 0.33 + phase * 6),
    y: -5.5 * (seconds - MIDDLE_SECONDS) + 2.5 * sin(seconds * 0.8 + phase * 6),
    lean: 0.018 * sin(seconds * 0.7 + phase * 6),
  }),
  kite: (seconds, { phase }) => ({
    x: 20 * sin(seconds * 0.9 + phase * 6),
    y: 13 * sin(seconds * 1.4 + phase * 4),
    lean: 0.12 * sin(seconds * 1.1 + phase * 6),
  }),
  lantern: (seconds, { phase }) => ({
    x: 7 * sin(seconds * 0.5 + phase * 6),
    y: -9 * (seconds - MIDDLE_SECONDS),
    strength: 0.9 + 0.1 * sin(seconds * 7 + phase * 20),
  }),
  boat: float(6, 0.035),
  rowboat: float(5, 0.02),
  ship: float(8, 0.006),
  duck: float(8, 0.012),
  whale: (seconds, mover) => ({
    ...float(6, 0)(seconds, mover),
    y: mover.size * 0.06 * sin(seconds * 0.9),
    isCutAtFoot: true,
  }),
  dolphin: (seconds, { facing, size, phase }) => {
    const cycle = ((seconds + 1.1) / 2.7 + phase * 0.3) % 1;
    const up = cycle < 0.6 ? sin((cycle / 0.6) * PI) : 0;
    return { x: facing * (cycle - 0.3) * size * 2.2, y: (1 - up) * size * 1.25, isCutAtFoot: true };
  },
  fish: (seconds, { facing, phase }) => ({
    x: facing * 24 * (seconds - MIDDLE_SECONDS),
    y: 8 * sin(seconds * 0.9 + phase * 6),
    wide: 1 + 0.05 * sin(seconds * 7 + phase * 6),
    lean: 0.05 * sin(seconds * 7 + phase * 6),
  }),
  jellyfish: (seconds, { phase }) => ({
    y: -9 * (seconds - MIDDLE_SECONDS) + 5 * sin(seconds * 2 + phase * 6),
    tall: 1 + 0.07 * sin(seconds * 2 + phase * 6),
    wide: 1 - 0.06 * sin(seconds * 2 + phase * 6),
  }),
  car: travel(120),
  train: travel(88),
  campfire: (seconds) => ({
    tall: 1 + 0.05 * sin(seconds * 11) + 0.04 * sin(seconds * 17.3),
    lean: 0.05 * sin(seconds * 5.1) + 0.03 * sin(seconds * 13),
  }),
  astronaut: (seconds) => ({ y: -5 * Math.max(0, sin(seconds * 1.2)), lean: 0.02 * sin(seconds * 0.8) }),
  robot: (seconds) => ({ lean: 0.012 * sin(seconds * 1.5) }),
  snowman: () => ({}),
  tent: (seconds) => ({ lean: 0.004 * sin(seconds * 2.2) }),
  rock: () => ({}),
  mushroom: () => ({}),
};

/** Everything else only breathes. */
const BREATHING = breathe(2.1);

/** The pose of a thing at a second of its shot. */
export function poseOf(thing: Thing, seconds: number, mover: Mover): Pose {
  return { ...REST, ...(MOTIONS[thing] ?? BREATHING)(seconds, mover) };
}

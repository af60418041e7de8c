/** Things that break, slam, creak or burst. */
import type { Random } from '@darkroom/seeded-random/random';
import { bandPass, filtered, highPass, lowPass } from '../signal/biquad.ts';
import { brownNoise, pinkNoise, wander, whiteNoise } from '../signal/noise.ts';
import {
  SAMPLE_RATE,
  about,
  addAt,
  burst,
  driven,
  fadingOut,
  gliding,
  ringing,
  samplesIn,
  shaped,
  struck,
  swelling,
  swept,
  together,
  tone,
} from '../signal/shapes.ts';
import type { Manner, Take, Thing } from '../thing.ts';
import { blow } from './blows.ts';

const RATE = SAMPLE_RATE;

function doorSlam(random: Random, { weight, pitch }: Manner): Take {
  const thud = tone(0.5, gliding(92 * pitch, 46 * pitch, 0.3), struck(0.002, 0.45));
  const panel = blow(random, 'wood', 128 * pitch, weight);
  const air = filtered(burst(0.5, brownNoise(random), struck(0.004, 0.35)), lowPass(RATE, 700));
  const whole = together([thud, 0, 1.1 * weight], [panel, 0, 1.2], [air, 0, 1.4], [new Float32Array(1), 0.9]);
  // The latch, and the frame that rattles after it.
  addAt(whole, blow(random, 'metal', 1300, 0.6, 0.08), 0.035, 0.3);
  for (let index = 0; index < 6; index++)
    addAt(
      whole,
      blow(random, 'wood', 310 * pitch, 0.5),
      0.06 + index * random.between(0.02, 0.035),
      0.22 / (1 + index * 0.7),
    );
  return driven(whole, 1.2);
}

/** A dry hinge: it sticks and slips, faster and slower, and the door sings with it. */
function creak(random: Random, { pitch, pace }: Manner): Take {
  const seconds = random.between(1.1, 1.9) / pace;
  const source = new Float32Array(samplesIn(seconds));
  const speed = wander(random.fork('speed'), 2.6, RATE);
  const force = swelling(seconds * 0.35, seconds * 0.65);
  let phase = 0;
  for (let index = 0; index < source.length; index++) {
    const at = index / RATE;
    phase += ((42 + 95 * (0.5 + 0.5 * speed()) + 60 * force(at)) * pitch * (1 + 0.12 * (random.next() - 0.5))) / RATE;
    if (phase < 1) continue;
    phase -= Math.floor(phase);
    source[index] = force(at) * random.between(0.5, 1);
  }
  const body = [
    [540, 9, 1],
    [930, 12, 0.9],
    [1480, 14, 0.7],
    [2350, 12, 0.45],
    [3300, 10, 0.25],
  ] as const;
  const sung = new Float32Array(source.length);
  for (const [hertz, q, level] of body) {
    const mode = swept(
      source.slice(),
      (of) => bandPass(RATE, of, q),
      (at) => hertz * pitch * (1 + 0.1 * force(at)),
    );
    addAt(sung, mode, 0, level * 4);
  }
  return sung;
}

function openDoor(random: Random, manner: Manner): Take {
  const latch = together([blow(random, 'metal', 1900, 0.5, 0.06)], [blow(random, 'metal', 1200, 0.5, 0.08), 0.07]);
  const hinge = creak(random, manner);
  return together([latch, 0, 0.5], [hinge instanceof Float32Array ? hinge : latch, 0.16, 1]);
}

/** The crack, the shards that fly at once, and those that bounce on the floor. */
function glassBreak(random: Random, { weight, pitch }: Manner): Take {
  const whole = new Float32Array(samplesIn(2));
  addAt(whole, filtered(burst(0.12, whiteNoise(random), struck(0.0005, 0.1)), highPass(RATE, 1800)), 0, 1.1 * weight);
  addAt(whole, blow(random, 'glass', 900 * pitch, weight), 0, 0.8);
  const shards = Math.round(90 * weight);
  for (let index = 0; index < shards; index++) {
    const size = random.next();
    const hertz = (2200 + 8500 * (1 - size) ** 1.4) * pitch;
    const at = 0.015 + 1.35 * random.next() ** 2.4;
    const shard = ringing(0.4, [
      { hertz, level: 1, decay: 0.08 + 0.35 * size },
      { hertz: hertz * 1.47, level: 0.6, decay: 0.05 + 0.2 * size },
      { hertz: hertz * 2.09, level: 0.35, decay: 0.04 + 0.1 * size },
    ]);
    addAt(whole, shard, at, 0.28 * random.next() ** 1.3 * (at < 0.3 ? 1 : 0.6));
  }
  return whole;
}

/** A blast: the front, the ball of fire, the sub-bass that is felt, and the falling debris. */
function explosion(random: Random, { weight, pitch }: Manner): Take {
  const seconds = 3.2 + 1.4 * weight;
  const sides = [0, 1].map((side) => {
    const own = random.fork(`side ${side}`);
    const front = filtered(burst(0.16, whiteNoise(own), struck(0.0006, 0.12)), highPass(RATE, 250));
    const fireball = burst(seconds, pinkNoise(own), struck(0.006, seconds * 0.62));
    swept(
      fireball,
      (hertz) => lowPass(RATE, hertz),
      (at) => 110 + 5200 * Math.exp(-at * 4.6) + 500 * Math.exp(-at * 0.9),
    );
    const roll = wander(own, 6, RATE);
    const rumble = shaped(
      filtered(burst(seconds, brownNoise(own), struck(0.05, seconds * 0.9)), lowPass(RATE, 130)),
      () => 0.75 + 0.4 * roll(),
    );
    const whole = together([front, 0, 1.2], [fireball, 0, 3], [rumble, 0, 3.2]);
    addAt(whole, tone(1.6, gliding(78 * pitch, 26 * pitch, 1.2), struck(0.003, 1.5)), 0, 1.5 * weight);
    for (let index = 0; index < 46 * weight; index++) {
      const piece = own.chance(0.6)
        ? blow(own, 'stone', own.between(300, 1600), 0.6)
        : filtered(burst(0.05, whiteNoise(own), struck(0.001, 0.04)), bandPass(RATE, own.between(700, 3500), 1));
      addAt(whole, piece, 0.5 + (seconds - 1) * own.next() ** 1.5, 0.3 * own.next() ** 1.5);
    }
    return fadingOut(driven(whole, 2.2), 0.3);
  });
  const length = Math.min(...sides.map((side) => side.length));
  return [sides[0]?.subarray(0, length) ?? new Float32Array(1), sides[1]?.subarray(0, length) ?? new Float32Array(1)];
}

function gunshot(random: Random, { weight, pitch }: Manner): Take {
  const crack = burst(0.05, whiteNoise(random), struck(0.0002, 0.02));
  const body = burst(0.7, whiteNoise(random), struck(0.001, 0.35));
  swept(
    body,
    (hertz) => lowPass(RATE, hertz),
    (at) => 180 + 7500 * pitch * Math.exp(-at * 28),
  );
  const whole = together(
    [crack, 0, 1.3],
    [body, 0, 1.3 * weight],
    [tone(0.2, gliding(150 * pitch, 48, 0.12), struck(0.001, 0.18)), 0, 1.1],
  );
  return driven(whole, 2.5);
}

/** Fibres that break one after the other, then all at once. */
function snap(random: Random, { pitch, weight }: Manner): Take {
  const whole = new Float32Array(samplesIn(0.5));
  for (let index = 0; index < 10; index++)
    addAt(whole, blow(random, 'wood', about(random, 900 * pitch, 0.4), 0.6), 0.16 * random.next(), 0.3 * random.next());
  addAt(whole, blow(random, 'wood', 380 * pitch, weight), 0.17, 1);
  return whole;
}

export const BREAKAGE: readonly Thing[] = [
  {
    names: [
      'door slam',
      'slam',
      'door slamming',
      'slamming door',
      'door closing',
      'door shut',
      'door shuts',
      'door closes',
      'gate',
    ],
    strike: doorSlam,
    rhythm: { every: [3, 4.5], isFixed: true },
    naturalSeconds: 1.6,
    room: 'hall',
    wet: 0.2,
  },
  {
    names: [
      'creak',
      'creaking',
      'door creak',
      'creaking door',
      'squeak',
      'squeaking',
      'hinge',
      'floorboards creaking',
      'creaky door',
    ],
    strike: creak,
    rhythm: { every: [1.9, 3.2] },
    naturalSeconds: 2.2,
    room: 'hall',
    wet: 0.25,
  },
  {
    names: ['door', 'door opening', 'door opens', 'opening door'],
    strike: openDoor,
    rhythm: { every: [3, 4.5], isFixed: true },
    naturalSeconds: 2.4,
    room: 'room',
    wet: 0.25,
  },
  {
    names: [
      'glass break',
      'break',
      'broken',
      'glass breaking',
      'breaking glass',
      'glass shattering',
      'shatter',
      'shattering',
      'smash',
      'broken glass',
      'window breaking',
      'window smash',
      'shattering glass',
      'plate breaking',
      'dishes breaking',
    ],
    strike: glassBreak,
    rhythm: { every: [2.6, 4] },
    naturalSeconds: 2,
    room: 'room',
    wet: 0.25,
  },
  {
    names: ['explosion', 'explode', 'blast', 'bomb', 'detonation', 'grenade', 'nuke', 'eruption'],
    strike: explosion,
    rhythm: { every: [4.4, 6.5], first: 0.1 },
    naturalSeconds: 4.5,
    wet: 0.25,
    room: 'canyon',
  },
  {
    names: [
      'gunshot',
      'gun',
      'shot',
      'pistol',
      'rifle',
      'shooting',
      'gunfire',
      'shotgun',
      'gun shot',
      'cannon',
      'musket',
    ],
    strike: gunshot,
    rhythm: { every: [1.1, 2.2] },
    naturalSeconds: 1.6,
    wet: 0.4,
    room: 'canyon',
  },
  {
    names: ['machine gun', 'automatic rifle'],
    strike: gunshot,
    rhythm: { every: [0.8, 1.6], group: [6, 14], gap: [0.085, 0.095], isFixed: true },
    naturalSeconds: 2.5,
    wet: 0.3,
    room: 'canyon',
  },
  {
    names: ['branch', 'twig', 'wood crack', 'branch breaking', 'twig snap', 'bone crack', 'crack', 'cracking'],
    strike: snap,
    rhythm: { every: [1, 2.2] },
    naturalSeconds: 1,
    room: 'forest',
  },
];

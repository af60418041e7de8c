/**
 * The shot list of a video: how many shots, how long each, what the camera does, and how each changes to the next.
 * Short videos are one shot; longer ones show one world from several positions.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Move } from './camera.ts';
import type { VideoPromptReading } from './prompt-reading.ts';
import type { Framing } from './world-stage.ts';

export interface PlannedShot {
  readonly from: number;
  readonly to: number;
  readonly dissolveSeconds: number;
  readonly move: Move;
  readonly framing: Framing;
}

/** A video up to this length is one shot. */
const ONE_SHOT_SECONDS = 8;
const SHOT_SECONDS = { quick: 3.6, usual: 5.6, slow: 7.2, none: Infinity } as const;
const DISSOLVE_SECONDS = { quick: 0, usual: 0.9, slow: 1.5, none: 0 } as const;

/** Wide, closer, low, from above: what an editor would cut between. */
const FRAMINGS: readonly (Omit<Framing, 'name'> & { readonly moves: readonly [Move, ...Move[]] })[] = [
  { size: 1, horizon: 0, moves: ['push', 'right', 'orbit', 'left'] },
  { size: 1.5, horizon: -0.05, moves: ['orbit', 'calm', 'left'] },
  { size: 0.72, horizon: 0.1, moves: ['right', 'rise', 'push'] },
  { size: 1.2, horizon: -0.09, moves: ['pull', 'sink', 'right'] },
  { size: 0.9, horizon: 0.05, moves: ['left', 'push', 'orbit'] },
];

/** Plans a video of a given length in seconds. */
export function planShots(reading: VideoPromptReading, seconds: number, random: Random): readonly PlannedShot[] {
  const chance = random.fork('shots');
  const { cutting, moves } = reading;
  const count = seconds <= ONE_SHOT_SECONDS ? 1 : Math.max(1, Math.round(seconds / SHOT_SECONDS[cutting]));
  // Uneven, so that the cuts have no regular rhythm: each between 0.8 and 1.2 of the mean.
  const weights = Array.from({ length: count }, () => chance.between(0.8, 1.2));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let at = 0;
  return weights.map((weight, index): PlannedShot => {
    const from = at;
    at = index === count - 1 ? seconds : at + (weight / total) * seconds;
    const framing = FRAMINGS[index % FRAMINGS.length] ?? { size: 1, horizon: 0, moves: ['push'] as const };
    const named = moves[Math.min(index, moves.length - 1)];
    // Every second dissolve of a `usual` video is a cut.
    const isCut = index === 0 || (cutting === 'usual' && index % 2 === 0);
    return {
      from,
      to: at,
      dissolveSeconds: isCut ? 0 : DISSOLVE_SECONDS[cutting],
      move: named ?? chance.pick(framing.moves),
      framing: { name: `shot ${index}`, size: framing.size, horizon: framing.horizon },
    };
  });
}

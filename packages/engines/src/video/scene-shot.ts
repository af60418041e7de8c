/**
 * A shot of a world: its parts under a moving camera, in the light of the moment.
 */
import { promisify } from 'node:util';
import type { PromptReading } from '../image/prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { createCamera } from './camera.ts';
import type { Move } from './camera.ts';
import type { VideoSize } from './video-size.ts';
import { lightOf } from './light-transition.ts';
import type { ShotPainter } from './shot.ts';
import { paintWorld } from './world.ts';
import { stageWorld } from './world-stage.ts';
import type { LightChange, Framing, WorldStage } from './world-stage.ts';

/** Resolves after the other work of the thread has had its turn. */
const nextTurn = promisify(setImmediate);

/** The plan of one shot. */
export interface ScenePlan {
  readonly reading: PromptReading;
  readonly framing: Framing;
  readonly move: Move;
  readonly light: LightChange | undefined;
  readonly seconds: number;
  /** The video's, the same for all of its shots. */
  readonly random: Random;
}

/** The world of a shot, composed but not painted. */
export function worldOf(plan: ScenePlan, size: VideoSize): WorldStage {
  const { reading, framing, light, random } = plan;
  return stageWorld(reading, { size, framing, light, random });
}

/** Paints the layers of a shot; this is the slow step. */
export function openSceneShot(plan: ScenePlan, size: VideoSize): ShotPainter {
  const world = worldOf(plan, size);
  const { parts, hero } = paintWorld(world, plan.seconds);
  // The camera goes to the thing that the prompt names first, and keeps it a little off the middle.
  const focus = hero === undefined ? world.view.focus : hero * 0.75 + (world.view.left + size.width / 2) * 0.25;
  const camera = createCamera(plan.move, Math.min(1.4, plan.seconds / 6), plan.random.fork(plan.framing.name));
  const light = lightOf(world.palettes);
  return {
    async paint(frame, { seconds, share, videoShare }) {
      const view = { ...world.view, focus, camera: camera(share, seconds) };
      const moment = { view, seconds, progress: videoShare, shade: light?.(videoShare) };
      for (const part of parts) {
        part(frame, moment);
        // The previous frame is on its way to the encoder, through a pipe that takes it in pieces.
        await nextTurn();
      }
    },
  };
}

/**
 * Plans a video of the scene that a prompt describes: its shots, its titles and its audio.
 */
import { createCanvas } from '@napi-rs/canvas';
import { paintScene } from '../image/scene-painting.ts';
import { applyFinish } from '../image/finish.ts';
import { upsampled } from '../image/prompt-upsampling.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { VideoPromptReading } from './prompt-reading.ts';
import type { VideoSize } from './video-size.ts';
import { createPlan } from './video-plan.ts';
import type { VideoPlan, PlanningContext } from './video-plan.ts';
import { inStyle, paintedSize } from './frame-finish.ts';
import { openBitmapShot } from './image-shot.ts';
import { createBitmap, pixelsOf } from './raster/bitmap.ts';
import { openSceneShot, worldOf } from './scene-shot.ts';
import type { ScenePlan } from './scene-shot.ts';
import { planShots } from './shot-list.ts';
import type { PlannedShot } from './shot-list.ts';
import type { Shot, ShotPainter } from './shot.ts';
import { eventsOf, voicesOf } from './audio/voices.ts';
import type { Mood } from './audio/music-bed.ts';
import type { TrackPlan } from './audio/track.ts';
import { createOverlays } from './titles.ts';
import type { WorldStage } from './world-stage.ts';

/** Scenes that are close by or indoors: they have no layers of their own, and are painted as one image. */
const CLOSE_SETTINGS: ReadonlySet<string> = new Set(['portrait', 'table', 'room']);

/** `prompt_extend`: season, light, weather and materials that fit, things in the air, and a light that changes. */
export function extended(reading: VideoPromptReading, random: Random): VideoPromptReading {
  const scene = upsampled(reading.scene, random.fork('extension'));
  const time = scene.time;
  const light =
    reading.light ??
    (time === 'night'
      ? { time: 'night' as const, until: 'dawn' as const }
      : time === undefined
        ? undefined
        : { time, until: 'dusk' as const });
  const isSame = light === undefined || light.time === light.until;
  return {
    ...reading,
    scene,
    light: isSame ? undefined : light,
    moves: reading.moves.length > 0 ? reading.moves : ['rise', 'orbit', 'push'],
  };
}

function openShot(plan: ScenePlan, reading: VideoPromptReading, videoSize: VideoSize): ShotPainter {
  const { style } = plan.reading;
  return inStyle(style, videoSize, openPlain(plan, reading, paintedSize(style, videoSize)));
}

function openPlain(plan: ScenePlan, reading: VideoPromptReading, size: VideoSize): ShotPainter {
  const world = worldOf(plan, size);
  if (!CLOSE_SETTINGS.has(world.composition.setting)) return openSceneShot(plan, size);
  const bitmap = paintClose(world, size);
  return openBitmapShot(
    bitmap,
    {
      reading,
      move: plan.move === 'rise' || plan.move === 'sink' ? 'push' : plan.move,
      seconds: plan.seconds,
      random: plan.random.fork(plan.framing.name),
      hasLightSweep: true,
      palettes: world.palettes,
      strength: Math.min(1.2, plan.seconds / 6),
    },
    size,
  );
}

/** A scene without a horizon, as the image engine paints it. */
function paintClose(world: WorldStage, size: VideoSize): ReturnType<typeof createBitmap> {
  const canvas = createCanvas(size.width, size.height);
  const context = canvas.getContext('2d');
  const { scale } = world.stage;
  const [width, height] = [size.width / scale, size.height / scale];
  context.scale(scale, scale);
  const stage = { ...world.stage, context, width, height, horizon: height * 0.6 };
  paintScene(stage, world.composition);
  applyFinish(stage);
  return createBitmap(pixelsOf(canvas).slice(), size.width, size.height, true);
}

/** The shots of a scene, from a given second of the video on. */
export function sceneShots(
  reading: VideoPromptReading,
  planned: readonly PlannedShot[],
  size: VideoSize,
  random: Random,
): { readonly shots: readonly Shot[]; readonly plans: readonly ScenePlan[] } {
  const plans = planned.map(({ from, to, move, framing }): ScenePlan => ({
    reading: reading.scene,
    framing,
    move,
    light: reading.light,
    // The next shot may be visible at the end.
    seconds: to - from + 1.5,
    random,
  }));
  const shots = planned.map(({ from, to, dissolveSeconds }, index): Shot => {
    const plan = plans[index];
    if (plan === undefined) throw new RangeError('a shot without a plan');
    return { from, to, dissolveSeconds, open: () => openShot(plan, reading, size) };
  });
  return { shots, plans };
}

function moodOf({ composition, palettes }: WorldStage): Mood {
  if (composition.setting === 'space' || composition.setting === 'undersea') return 'wide';
  if (composition.weather.has('storm') || composition.mentions.has('volcano')) return 'dark';
  if (palettes[2].isDark) return composition.mentions.has('firework') ? 'bright' : 'tender';
  return composition.weather.has('fog') || composition.weather.has('rain') ? 'tender' : 'bright';
}

/** The audio of a video of scenes. */
function sceneTrack(
  plans: readonly ScenePlan[],
  planned: readonly PlannedShot[],
  size: VideoSize,
  seconds: number,
  random: Random,
): TrackPlan | undefined {
  const worlds = plans.map((plan) => worldOf(plan, size));
  const [first] = worlds;
  if (first === undefined) return undefined;
  return {
    kind: 'scene',
    seconds,
    voices: voicesOf(first),
    events: worlds.flatMap((world, index) => {
      const shot = planned[index];
      return shot === undefined ? [] : eventsOf(world, shot.from, shot.to);
    }),
    mood: moodOf(first),
    random: random.fork('sound'),
  };
}

/** Shows the scene of the prompt, with its titles and its audio. */
export function planSceneVideo({ request, random, sizeFor }: PlanningContext): VideoPlan {
  const { seconds } = request;
  const size = sizeFor();
  const reading = request.isExtended ? extended(request.reading, random) : request.reading;
  const planned = planShots(reading, seconds, random);
  const { shots, plans } = sceneShots(reading, planned, size, random);
  const [first] = plans;
  if (first === undefined) throw new RangeError('a video without a shot');
  return createPlan(request, {
    size,
    shots,
    overlays: createOverlays(request, reading.scene, size, () => worldOf(first, size).stage),
    audio: request.hasAudio ? sceneTrack(plans, planned, size, seconds, random) : undefined,
  });
}

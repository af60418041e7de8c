/**
 * Plans videos that begin with an input of the caller: an image that comes to life, or the last frame of a clip that
 * turns into a new scene.
 */
import type { DecodedImage } from '@darkroom/media/decode';
import { mix } from '../image/colour.ts';
import type { Colour } from '../image/colour.ts';
import { choosePalette } from '../image/palette.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Move } from './camera.ts';
import { readLastFrame, readImage } from './input-media.ts';
import { createPlan } from './video-plan.ts';
import type { VideoPlan, PlanningContext } from './video-plan.ts';
import type { VideoPromptReading } from './prompt-reading.ts';
import type { VideoSize } from './video-size.ts';
import { openImageShot } from './image-shot.ts';
import type { ImageShotPlan } from './image-shot.ts';
import { sceneShots } from './plan-scene.ts';
import type { Palettes } from './light-transition.ts';
import { planShots } from './shot-list.ts';
import type { Shot } from './shot.ts';
import { createInputOverlays } from './titles.ts';

/** How long the image is shown before the scene comes through, and how long that takes. */
const HOLD_SECONDS = 1.1;
const CHANGE_SECONDS = 1.7;

/** The colours between which an image's light changes. */
function palettesOf(reading: VideoPromptReading, random: Random): Palettes {
  const { scene, light } = reading;
  const season = scene.season ?? 'summer';
  const plain = { ...scene, weather: new Set<never>(), colours: [] };
  const at = (
    time: 'noon' | 'sunset' | 'dawn' | 'night' | 'dusk' | 'morning' | 'afternoon',
  ): ReturnType<typeof choosePalette> => choosePalette(plain, time, season, random.fork('palette'));
  if (light === undefined) {
    const still = at('noon');
    return [still, still, still];
  }
  // One end of the transition shows the unchanged image: the prompt decides whether the first or the last.
  const [first, last] = [at(light.time), at(light.until)];
  return [first, at(last.isDark ? 'sunset' : 'dawn'), last];
}

/** The move that suits an image of a given shape best: along its longer side, or into it. */
function fittingMove(size: { readonly width: number; readonly height: number }, random: Random): Move {
  const shape = size.width / size.height;
  if (shape > 1.9) return random.pick(['left', 'right'] as const);
  if (shape < 0.7) return random.pick(['rise', 'push'] as const);
  return random.pick(['push', 'orbit', 'push', 'right'] as const);
}

/** The shot of an image at the beginning of a video. */
function createImageShot(plan: ImageShotPlan, size: VideoSize): Shot {
  return { from: 0, to: plan.seconds, dissolveSeconds: 0, open: () => openImageShot(plan, size) };
}

/** Begins with the unchanged image, and brings it to life. */
export async function planImageVideo(context: PlanningContext, field: string): Promise<VideoPlan> {
  const { request, media, random, sizeFor } = context;
  const image = await readImage(media, field);
  const size = sizeFor(image);
  const { reading, seconds, isOptimized } = request;
  const [named] = reading.moves;
  const shot = createImageShot(
    {
      image,
      reading,
      move: named ?? (isOptimized ? fittingMove(size, random.fork('move')) : 'calm'),
      seconds,
      random,
      hasLightSweep: isOptimized,
      palettes: palettesOf(reading, random),
      strength: Math.min(1.3, seconds / 6) * (isOptimized ? 1.35 : 1),
    },
    size,
  );
  return createPlan(request, { size, shots: [shot], overlays: createInputOverlays(context, reading.scene, size) });
}

/** The mean colour of an image's upper half. */
function skyColour({ width, height, rgba }: DecodedImage): Colour {
  const sums = [0, 0, 0];
  let count = 0;
  for (let row = 0; row < height / 2; row += Math.ceil(height / 64)) {
    for (let column = 0; column < width; column += Math.ceil(width / 64)) {
      for (const channel of [0, 1, 2])
        sums[channel] = (sums[channel] ?? 0) + (rgba[(row * width + column) * 4 + channel] ?? 0);
      count += 1;
    }
  }
  const mean = (channel: number): number => (sums[channel] ?? 0) / Math.max(1, count);
  return [mean(0), mean(1), mean(2)];
}

/** Begins with the clip's last frame, moves into it, and continues with the scene of the prompt. */
export async function planContinuation(context: PlanningContext, field: string): Promise<VideoPlan> {
  const { request, media, random, sizeFor } = context;
  const image = await readLastFrame(media, field);
  const size = sizeFor(image);
  const { seconds } = request;
  // The new scene keeps some of the old light, unless the prompt has colours of its own.
  const { scene: words } = request.reading;
  const colours =
    words.colours.length > 0 || words.time !== undefined
      ? words.colours
      : [mix(skyColour(image), [128, 128, 128], 0.15)];
  const reading: VideoPromptReading = { ...request.reading, scene: { ...words, colours } };
  const rest = seconds - HOLD_SECONDS;
  const planned = planShots(reading, rest, random).map((shot, index) => ({
    ...shot,
    from: shot.from + HOLD_SECONDS,
    to: shot.to + HOLD_SECONDS,
    dissolveSeconds: index === 0 ? CHANGE_SECONDS : shot.dissolveSeconds,
    // The camera leaves the old image in the same direction as it entered.
    move: index === 0 && request.reading.moves.length === 0 ? ('push' as const) : shot.move,
  }));
  const { shots } = sceneShots(reading, planned, size, random);
  const opening = createImageShot(
    {
      image,
      reading: { ...reading, scene: { ...words, weather: new Set(), scenery: '' } },
      move: 'push',
      seconds: HOLD_SECONDS + CHANGE_SECONDS,
      random,
      hasLightSweep: false,
      palettes: palettesOf({ ...reading, light: undefined }, random),
      strength: 4,
    },
    size,
  );
  return createPlan(request, {
    size,
    shots: [opening, ...shots],
    overlays: createInputOverlays(context, reading.scene, size),
  });
}

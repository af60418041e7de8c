/**
 * A shot of a still image: it begins as the image is, then the camera moves through it, near rows more than far ones,
 * water ripples if there is any, and weather and light come in as the prompt requests.
 */
import sharp from 'sharp';
import type { DecodedImage } from '@darkroom/media/decode';
import { hex } from '../image/colour.ts';
import { glow } from '../image/draw.ts';
import type { VideoPromptReading } from './prompt-reading.ts';
import type { VideoSize } from './video-size.ts';
import type { Move } from './camera.ts';
import { easeIn } from './camera.ts';
import type { Palettes } from './light-transition.ts';
import { lightOf } from './light-transition.ts';
import { imageAtmosphereParts } from './image-atmosphere.ts';
import { findWater } from './image-water.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { bitmapOfRgba } from './raster/bitmap.ts';
import type { Bitmap } from './raster/bitmap.ts';
import { dissolve } from './raster/blending.ts';
import { createFrame, draw } from './raster/drawing.ts';
import type { Frame, Placing } from './raster/drawing.ts';
import { createSprite, stamp } from './raster/sprites.ts';
import type { ShotPainter } from './shot.ts';

/** The parameters of the shot. */
export interface ImageShotPlan {
  readonly image: DecodedImage;
  readonly reading: VideoPromptReading;
  readonly move: Move;
  readonly seconds: number;
  readonly random: Random;
  /** Whether a soft light passes over it. */
  readonly hasLightSweep: boolean;
  /** The light at the beginning and end; all the same if it does not change. */
  readonly palettes: Palettes;
  /** How far the camera goes: 1 for a shot of a few seconds. */
  readonly strength: number;
}

/** The added effects fade in over this time: the first frame is the unchanged image. */
const ARRIVAL_SECONDS = 1.1;

/** The part of an image that covers a frame, as a bitmap of the frame's size. Transparent images are laid on white. */
async function coverBitmap(image: DecodedImage, size: VideoSize): Promise<Bitmap> {
  const { width, height, rgba } = image;
  const fitted = await sharp(rgba, { raw: { width, height, channels: 4 } })
    .flatten({ background: '#ffffff' })
    .resize(size.width, size.height, { fit: 'cover', position: 'centre' })
    .ensureAlpha()
    .raw()
    .toBuffer();
  return bitmapOfRgba(fitted, size.width, size.height);
}

/** When a camera that pulls back has reached its closest point. */
const PULL_TURN = 0.3;

/** Where the camera is: how much is cut off at each side; nothing at zoom 1. */
function cameraAt(move: Move, share: number, strength: number): { zoom: number; x: number; y: number } {
  const part = easeIn(share);
  const far = 0.1 + 0.08 * strength;
  switch (move) {
    case 'still':
      return { zoom: 1, x: 0, y: 0 };
    case 'left':
    case 'right': {
      const zoom = 1 + far * 0.95 * Math.min(1, part * 1.5);
      return { zoom, x: (move === 'right' ? 1 : -1) * ((zoom - 1) / 2) * 0.95 * part, y: 0 };
    }
    case 'rise':
    case 'sink': {
      const zoom = 1 + far * 0.95 * Math.min(1, part * 1.5);
      return { zoom, x: 0, y: (move === 'sink' ? 1 : -1) * ((zoom - 1) / 2) * 0.95 * part };
    }
    case 'pull': {
      // The first frame is the whole image: the camera goes in quickly and comes back slowly.
      const inside = share < PULL_TURN ? share / PULL_TURN : (1 - share) / (1 - PULL_TURN);
      return { zoom: 1 + far * inside * inside * (3 - 2 * inside), x: 0, y: 0 };
    }
    case 'orbit': {
      const zoom = 1 + far * Math.min(1, part * 1.6);
      return { zoom, x: ((zoom - 1) / 2) * 0.85 * Math.sin(part * Math.PI * 1.6), y: 0 };
    }
    case 'shake': {
      const zoom = 1 + 0.06 * Math.min(1, part * 3);
      const loose = (zoom - 1) * 0.4;
      return { zoom, x: loose * Math.sin(share * 23), y: loose * Math.sin(share * 31 + 1) };
    }
    case 'push':
      return { zoom: 1 + far * 1.15 * part, x: 0, y: 0.006 * part };
    case 'calm':
      return { zoom: 1 + far * 0.7 * part, x: 0.006 * part, y: 0 };
  }
}

/** Opens a shot of an image. */
export async function openImageShot(plan: ImageShotPlan, size: VideoSize): Promise<ShotPainter> {
  const bitmap = await coverBitmap(plan.image, size);
  return openBitmapShot(bitmap, plan, size);
}

/** The same for an image that is already painted at the frame's size. */
export function openBitmapShot(bitmap: Bitmap, plan: Omit<ImageShotPlan, 'image'>, size: VideoSize): ShotPainter {
  const { reading, move, random, strength } = plan;
  const { width, height } = size;
  const water = findWater(bitmap, reading);
  const light = lightOf(plan.palettes);
  const air = imageAtmosphereParts(reading, plan.palettes, size, random);
  const sweep = plan.hasLightSweep ? lightSweep(size) : undefined;
  let spare: Frame | undefined;
  return {
    paint(frame, { seconds, share, videoShare }) {
      const { zoom, x, y } = cameraAt(move, share, strength);
      const bend = placeRows(size, zoom, x, y);
      const shade = light?.(videoShare);
      const lit = shade === undefined ? {} : { shade };
      if (zoom === 1) draw(frame, bitmap, { x: 0, y: 0, ...lit });
      else draw(frame, bitmap, { x: 0, y: 0, bend, isFine: true, ...lit });
      copyEdges(frame);
      const arrival = Math.min(1, seconds / ARRIVAL_SECONDS);
      if (water !== undefined && arrival > 0) {
        const wave = (row: number): number =>
          (Math.sin(row * 0.19 - seconds * 2.2) + 0.6 * Math.sin(row * 0.43 + seconds * 3.1)) *
          height *
          0.002 *
          arrival;
        draw(frame, water, {
          x: 0,
          y: 0,
          ...lit,
          bend: (row, position) => {
            bend?.(row, position);
            position.x += wave(row);
            position.row += wave(row * 1.3 + 40) * 0.6;
          },
        });
      }
      sweep?.(frame, share, Math.sin(share * Math.PI));
      if (air.length === 0 || arrival === 0) return;
      const view = { width, height, left: 0, top: 0, focus: width / 2, horizon: height * 0.5 };
      const camera = { x: x * 1.4, y: 0, rise: 0, zoom: 1, pivot: 0 };
      const moment = { view: { ...view, camera }, seconds, progress: videoShare, shade: undefined };
      if (arrival < 1) {
        spare ??= createFrame(width, height);
        spare.pixels.set(frame.pixels);
        for (const part of air) part(spare, moment);
        dissolve(frame, spare, arrival);
      } else for (const part of air) part(frame, moment);
    },
  };
}

/** Rows further down are closer: they grow and move more. */
function placeRows({ width, height }: VideoSize, zoom: number, x: number, y: number): NonNullable<Placing['bend']> {
  return (row, position) => {
    const down = row / height;
    const near = 0.86 + 0.28 * down * down;
    const scale = 1 + (zoom - 1) * near;
    position.scale = scale;
    // Never beyond the edges of the image.
    const slack = ((scale - 1) * width) / 2;
    position.x = -slack - Math.max(-slack, Math.min(slack, x * width * near));
    const tall = ((zoom - 1) * height) / 2;
    const shift = Math.max(-tall, Math.min(tall, y * height));
    position.row = (row + 0.5 + tall + shift) / zoom - 0.5;
  };
}

/** The last row and column lie beyond the last pair of pixels: they repeat their neighbours. */
function copyEdges({ width, height, pixels }: Frame): void {
  for (let row = 0; row < height; row++) {
    pixels[row * width] = pixels[row * width + 1] as number;
    pixels[row * width + width - 1] = pixels[row * width + width - 2] as number;
  }
  pixels.copyWithin((height - 1) * width, (height - 2) * width, (height - 1) * width);
}

/** A broad soft light that passes from one side to the other. */
function lightSweep({ width, height }: VideoSize): (frame: Frame, share: number, strength: number) => void {
  const reach = Math.round(Math.min(width, height) * 0.42);
  const sprite = createSprite({ width: reach * 2, height: reach * 2 }, (context) => {
    glow(context, { x: 0, y: 0 }, reach, hex('#ffe9c4'), 0.3);
  });
  return (frame, share, strength) => {
    stamp(frame, sprite, (-0.2 + 1.4 * share) * width, (0.18 + 0.2 * share) * height, strength, true);
  };
}

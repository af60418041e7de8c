/**
 * The subject of an image without its surroundings, to be put elsewhere.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import type { Pixels } from '../finish/pixels.ts';
import { canvasOf } from './input-images.ts';
import type { SubjectMask } from './subject-mask.ts';

export interface CutOut {
  readonly canvas: Canvas;
  /** Whether the image's lower border cuts it off, so that it cannot stand on anything. */
  readonly isCutBelow: boolean;
}

/** A subject on a transparent ground, cropped to its extent. */
export function cutOut(pixels: Pixels, subject: SubjectMask): CutOut {
  const { width, height } = pixels;
  const data = Uint8ClampedArray.from(pixels.data);
  for (let index = 0; index < width * height; index++) {
    data[index * 4 + 3] = Math.round((subject.mask.values[index] ?? 0) * 255);
  }
  const whole = canvasOf({ width, height, data });
  const [left, top] = [Math.floor(subject.left * width), Math.floor(subject.top * height)];
  const across = Math.max(1, Math.ceil(subject.right * width) - left);
  const down = Math.max(1, Math.ceil(subject.bottom * height) - top);
  const canvas = createCanvas(across, down);
  canvas.getContext('2d').drawImage(whole, left, top, across, down, 0, 0, across, down);
  return { canvas, isCutBelow: subject.bottom > 0.97 };
}

/** The part of an image that fills a shape, as large as possible, around a centre that must be visible. */
export function coverCrop(
  image: { readonly width: number; readonly height: number },
  shape: number,
  centre = { x: 0.5, y: 0.45 },
): { left: number; top: number; width: number; height: number } {
  const { width, height } = image;
  const [across, down] = width / height > shape ? [height * shape, height] : [width, width / shape];
  const left = Math.max(0, Math.min(width - across, width * centre.x - across / 2));
  const top = Math.max(0, Math.min(height - down, height * centre.y - down / 2));
  return { left, top, width: across, height: down };
}

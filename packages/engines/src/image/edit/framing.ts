/**
 * The visible part of an image: crops, turns, and the area beyond its borders, at the exact requested size.
 */
import { createCanvas } from '@napi-rs/canvas';
import sharp from 'sharp';
import type { Pixels } from '../finish/pixels.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { coverCrop } from '../analysis/cut-out.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { PixelSize } from '../sizes.ts';
import { extended } from './extension.ts';
import type { Edit, Side } from './plan-rules.ts';
import { Workpiece } from './workpiece.ts';

/** A part of an image, in its pixels; it may go beyond the borders. */
interface View {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Our own pixels at another size, with a Lanczos window; one thread, like the engine's own. */
export async function resized(pixels: Pixels, width: number, height: number): Promise<Pixels> {
  if (pixels.width === width && pixels.height === height) return pixels;
  sharp.concurrency(1);
  sharp.cache(false);
  const { buffer, byteOffset, byteLength } = pixels.data;
  const raw = { width: pixels.width, height: pixels.height, channels: 4 as const };
  const result = await sharp(Buffer.from(buffer, byteOffset, byteLength), { raw })
    .resize(width, height, { fit: 'fill', kernel: 'lanczos3' })
    .raw()
    .toBuffer();
  return { width, height, data: new Uint8ClampedArray(result.buffer, result.byteOffset, result.byteLength) };
}

function cropped(pixels: Pixels, { left, top, width, height }: View): Pixels {
  const canvas = createCanvas(Math.max(1, Math.round(width)), Math.max(1, Math.round(height)));
  canvas.getContext('2d').drawImage(canvasOf(pixels), -Math.round(left), -Math.round(top));
  return pixelsIn(canvas);
}

function cropTo(pixels: Pixels, part: Extract<Edit, { kind: 'crop' }>['part'], random: Random): Pixels {
  const { width, height } = pixels;
  const subject = new Workpiece(pixels, random).subject;
  const centre = { x: (subject.left + subject.right) / 2, y: (subject.top + subject.bottom) / 2 };
  switch (part) {
    case 'square':
      return cropped(pixels, coverCrop(pixels, 1, centre));
    case 'left':
      return cropped(pixels, { left: 0, top: 0, width: width / 2, height });
    case 'right':
      return cropped(pixels, { left: width / 2, top: 0, width: width / 2, height });
    case 'top':
      return cropped(pixels, { left: 0, top: 0, width, height: height / 2 });
    case 'bottom':
      return cropped(pixels, { left: 0, top: height / 2, width, height: height / 2 });
    case 'centre':
      return zoomed(pixels, 1.5, { x: 0.5, y: 0.5 });
    case 'subject': {
      const share = Math.max(subject.right - subject.left, subject.bottom - subject.top, 0.25) * 1.12;
      return zoomed(pixels, Math.max(1.25, 1 / share), centre);
    }
  }
}

function zoomed(pixels: Pixels, factor: number, centre: { x: number; y: number }): Pixels {
  const [width, height] = [pixels.width / factor, pixels.height / factor];
  const left = Math.max(0, Math.min(pixels.width - width, centre.x * pixels.width - width / 2));
  const top = Math.max(0, Math.min(pixels.height - height, centre.y * pixels.height - height / 2));
  return cropped(pixels, { left, top, width, height });
}

function turned(pixels: Pixels, turn: Extract<Edit, { kind: 'turn' }>['turn']): Pixels {
  const { width, height } = pixels;
  const isAside = turn === 'left' || turn === 'right';
  const canvas = createCanvas(isAside ? height : width, isAside ? width : height);
  const context = canvas.getContext('2d');
  context.translate(canvas.width / 2, canvas.height / 2);
  if (turn === 'mirror') context.scale(-1, 1);
  else context.rotate(turn === 'upside-down' ? Math.PI : turn === 'left' ? -Math.PI / 2 : Math.PI / 2);
  context.drawImage(canvasOf(pixels), -width / 2, -height / 2);
  return pixelsIn(canvas);
}

/** The result of the framing edits of a prompt: an image, and how far it is to be extended on each side. */
export interface Framed {
  readonly pixels: Pixels;
  /** In its pixels. */
  readonly view: View;
  readonly isExtended: boolean;
  readonly isCropped: boolean;
}

/** Crops and turns an image, in order, and records how far it is to be extended. */
export function frame(pixels: Pixels, edits: readonly Edit[], random: Random): Framed {
  let image = pixels;
  let [isExtended, isCropped] = [false, false];
  const more: Record<Side, number> = { left: 0, right: 0, top: 0, bottom: 0 };
  for (const edit of edits) {
    if (edit.kind === 'crop') image = cropTo(image, edit.part, random);
    else if (edit.kind === 'zoom') {
      const { left, right, top, bottom } = new Workpiece(image, random).subject;
      image = zoomed(image, edit.factor, { x: (left + right) / 2, y: (top + bottom) / 2 });
    } else if (edit.kind === 'turn') image = turned(image, edit.turn);
    else if (edit.kind === 'extend') {
      isExtended = true;
      const across = edit.sides.filter((side) => side === 'left' || side === 'right').length;
      const down = edit.sides.length - across;
      for (const side of edit.sides) {
        const isAcross = side === 'left' || side === 'right';
        more[side] += (edit.factor - 1) / (isAcross ? across : down);
      }
    }
    isCropped ||= edit.kind === 'crop' || edit.kind === 'zoom';
  }
  const { width, height } = image;
  const view = {
    left: -more.left * width,
    top: -more.top * height,
    width: width * (1 + more.left + more.right),
    height: height * (1 + more.top + more.bottom),
  };
  return { pixels: image, view, isExtended, isCropped };
}

/** The view grown, or shrunk if the prompt crops, to a shape; around its centre. */
function inShape(view: View, shape: number, isCropped: boolean): View {
  const isTooWide = view.width / view.height > shape;
  const keepsWidth = isCropped ? !isTooWide : isTooWide;
  const [width, height] = keepsWidth ? [view.width, view.width / shape] : [view.height * shape, view.height];
  return { left: view.left + (view.width - width) / 2, top: view.top + (view.height - height) / 2, width, height };
}

/**
 * The framed image at exactly the given size: scaled, and if it does not fill the size, extended beyond its borders.
 */
export async function fitTo(framed: Framed, size: PixelSize, random: Random): Promise<Pixels> {
  const { pixels } = framed;
  const isNear = Math.abs(framed.view.width / framed.view.height / (size.width / size.height) - 1) < 0.01;
  const view = isNear
    ? framed.view
    : inShape(framed.view, size.width / size.height, framed.isCropped && !framed.isExtended);
  const [scaleX, scaleY] = [size.width / view.width, size.height / view.height];
  const left = Math.round(-view.left * scaleX);
  const top = Math.round(-view.top * scaleY);
  const right = Math.round((pixels.width - view.left) * scaleX);
  const bottom = Math.round((pixels.height - view.top) * scaleY);
  const small = await resized(pixels, Math.max(1, right - left), Math.max(1, bottom - top));
  if (left <= 0 && top <= 0 && right >= size.width && bottom >= size.height) {
    return left === 0 && top === 0 && small.width === size.width && small.height === size.height
      ? small
      : cropped(small, { left: -left, top: -top, ...size });
  }
  return extended(small, { left, top, ...size }, random);
}

/**
 * The images of an input, as our pixels: each read by its own sandboxed child process (@darkroom/media/decode), with
 * transparent parts laid on white.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { decodeImage } from '@darkroom/media/decode';
import { UndecodableMediaError } from '../../engine.ts';
import type { EngineMedia } from '../../engine.ts';
import type { Pixels } from '../finish/pixels.ts';

/** Child processes that decode at the same time. */
const MAX_CONCURRENT_DECODINGS = 2;

/** The paths of an input's images, in the order of the list: `image`, `image_url`, or `image_urls.0` and so on. */
function fieldPathsOf(media: EngineMedia): string[] {
  const indexOf = (position: string): number => Number(/\.(\d+)$/.exec(position)?.[1] ?? 0);
  return [...media.keys()]
    .filter((position) => /^(image|image_url|image_urls\.\d+)$/.test(position))
    .toSorted((first, second) => indexOf(first) - indexOf(second));
}

function layOnWhite(data: Uint8ClampedArray): void {
  for (let position = 0; position < data.length; position += 4) {
    const alpha = data[position + 3] ?? 255;
    if (alpha === 255) continue;
    for (let channel = 0; channel < 3; channel++) {
      data[position + channel] = 255 + (((data[position + channel] ?? 0) - 255) * alpha) / 255;
    }
    data[position + 3] = 255;
  }
}

/**
 * Decodes one image.
 *
 * @param maxEdge the most pixels of its longer side.
 * @throws {UndecodableMediaError} it cannot be used; the message begins with its path in the input.
 */
export async function readImage(media: EngineMedia, position: string, maxEdge: number): Promise<Pixels> {
  const file = media.get(position);
  if (file === undefined) throw new UndecodableMediaError(`${position}: missing`, { kind: 'missing', field: position });
  try {
    const { width, height, rgba } = await decodeImage(file.path, { maxEdge });
    const data = new Uint8ClampedArray(rgba.buffer, rgba.byteOffset, rgba.byteLength);
    layOnWhite(data);
    return { width, height, data };
  } catch (error) {
    if (!(error instanceof UndecodableMediaError)) throw error;
    throw error.at(position);
  }
}

/** Decodes all images of an input, in their order. @throws {UndecodableMediaError} as `readImage`. */
export async function readImages(media: EngineMedia, maxEdge: number): Promise<readonly Pixels[]> {
  const fields = fieldPathsOf(media);
  const images: Pixels[] = [];
  for (let from = 0; from < fields.length; from += MAX_CONCURRENT_DECODINGS) {
    const some = fields.slice(from, from + MAX_CONCURRENT_DECODINGS);
    images.push(...(await Promise.all(some.map((position) => readImage(media, position, maxEdge)))));
  }
  return images;
}

/** A canvas with the pixels of an image. */
export function canvasOf(pixels: Pixels): Canvas {
  const canvas = createCanvas(pixels.width, pixels.height);
  const context = canvas.getContext('2d');
  const image = context.createImageData(pixels.width, pixels.height);
  image.data.set(pixels.data);
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The pixels of a canvas. */
export function pixelsIn(canvas: Canvas): Pixels {
  const { width, height } = canvas;
  return { width, height, data: canvas.getContext('2d').getImageData(0, 0, width, height).data };
}

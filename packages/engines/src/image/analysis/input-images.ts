/**
 * The images of an input, as our pixels: each read by its own sandboxed child process (@darkroom/media/decode), with
 * transparent parts laid on white.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { decodePicture } from '@darkroom/media/decode';
import { UndecodableMediaError } from '../../engine.ts';
import type { EngineMedia } from '../../engine.ts';
import type { Pixels } from '../finish/pixels.ts';

/** Child processes that decode at the same time. */
const AT_ONCE = 2;

/** The paths of an input's images, in the order of the list: `image`, `image_url`, or `image_urls.0` and so on. */
function placesOf(media: EngineMedia): string[] {
  const position = (place: string): number => Number(/\.(\d+)$/.exec(place)?.[1] ?? 0);
  return [...media.keys()]
    .filter((place) => /^(image|image_url|image_urls\.\d+)$/.test(place))
    .toSorted((first, second) => position(first) - position(second));
}

function layOnWhite(data: Uint8ClampedArray): void {
  for (let place = 0; place < data.length; place += 4) {
    const alpha = data[place + 3] ?? 255;
    if (alpha === 255) continue;
    for (let channel = 0; channel < 3; channel++) {
      data[place + channel] = 255 + (((data[place + channel] ?? 0) - 255) * alpha) / 255;
    }
    data[place + 3] = 255;
  }
}

/**
 * Decodes one image.
 *
 * @param maxEdge the most pixels of its longer side.
 * @throws {UndecodableMediaError} it cannot be used; the message begins with its path in the input.
 */
export async function readPicture(media: EngineMedia, place: string, maxEdge: number): Promise<Pixels> {
  const file = media.get(place);
  if (file === undefined) throw new UndecodableMediaError(`${place}: missing`, { kind: 'missing', field: place });
  try {
    const { width, height, rgba } = await decodePicture(file.path, { maxEdge });
    const data = new Uint8ClampedArray(rgba.buffer, rgba.byteOffset, rgba.byteLength);
    layOnWhite(data);
    return { width, height, data };
  } catch (error) {
    if (!(error instanceof UndecodableMediaError)) throw error;
    throw error.at(place);
  }
}

/** Decodes all images of an input, in their order. @throws {UndecodableMediaError} as `readPicture`. */
export async function readPictures(media: EngineMedia, maxEdge: number): Promise<readonly Pixels[]> {
  const places = placesOf(media);
  const pictures: Pixels[] = [];
  for (let from = 0; from < places.length; from += AT_ONCE) {
    const some = places.slice(from, from + AT_ONCE);
    pictures.push(...(await Promise.all(some.map((place) => readPicture(media, place, maxEdge)))));
  }
  return pictures;
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

/**
 * Photographs of phones (HEIC) as pixels, by libheif compiled to WebAssembly: the build of libvips that sharp brings has no
 * decoder of HEVC. Runs in media children only, and is loaded when the first such image arrives.
 */
import { UndecodableMediaError } from './undecodable-media-error.ts';
import type { DecodedFrame } from './video-decoding.ts';

/** What is used of libheif-js, which has no types of its bundle. */
interface Libheif {
  HeifDecoder: new () => { decode(bytes: Uint8Array): HeifImage[] };
}

interface HeifImage {
  get_width(): number;
  get_height(): number;
  is_primary(): boolean;
  display(target: DisplayTarget, done: (filled: DisplayTarget | null) => void): void;
  free(): void;
}

interface DisplayTarget {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/**
 * Decodes the image that the file is foremost, upright.
 *
 * @param maxPixels the largest that is decoded. @throws {UndecodableMediaError}
 */
export async function decodeHeic(bytes: Buffer, maxPixels: number): Promise<DecodedFrame> {
  // @ts-expect-error It has no types.
  const { default: libheif } = (await import('libheif-js/wasm-bundle.js')) as { readonly default: Libheif };
  const images = new libheif.HeifDecoder().decode(bytes);
  const image = images.find((each) => each.is_primary()) ?? images[0];
  if (image === undefined) throw new UndecodableMediaError('not an image that can be read');
  const [width, height] = [image.get_width(), image.get_height()];
  if (width * height > maxPixels) {
    throw new UndecodableMediaError(`larger than ${maxPixels / 1_000_000} megapixels`, { kind: 'too_many_pixels' });
  }
  const filled = await new Promise<DisplayTarget | null>((resolve) => {
    image.display({ data: new Uint8ClampedArray(width * height * 4), width, height }, resolve);
  });
  if (filled === null) throw new UndecodableMediaError('damaged: the image cannot be decoded completely');
  return { width, height, rgba: Buffer.from(filled.data.buffer) };
}

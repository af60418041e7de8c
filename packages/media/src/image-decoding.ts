/** Images as pixels, by sharp. Runs in media children only. */
import { readFile, stat } from 'node:fs/promises';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import type { DecodedFrame } from './video-decoding.ts';
import { isHeic } from './image-header.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

/**
 * libvips' loaders of the image types in media-types.ts: no SVG, no PDF, no loader of other libraries.
 */
const LOADERS = ['Png', 'Jpeg', 'Webp', 'Nsgif', 'Heif'];

const MAX_PIXELS = 100_000_000;
/** Good enough to serve as an input again: a video's last frame becomes the next one's first. */
const JPEG_QUALITY = 90;
/** Twice what an upload or a download may have (contract §7, stage-inputs): only to bound what is read into memory. */
const MAX_BYTES = 200_000_000;

/**
 * Decodes the first image of a file, upright and in sRGB, no larger than `maxEdge` pixels on its long edge.
 *
 * @throws {UndecodableMediaError}
 */
export async function decodeImageFile(path: string, maxEdge: number): Promise<DecodedFrame> {
  if ((await stat(path)).size > MAX_BYTES) {
    throw new UndecodableMediaError(`larger than ${MAX_BYTES / 1_000_000} MB`, { kind: 'too_large' });
  }
  // Bytes and not a name: libvips reads options out of names.
  return decodeImageBytes(await readFile(path), maxEdge);
}

/** The same for a file in memory. @throws {UndecodableMediaError} */
export async function decodeImageBytes(bytes: Buffer, maxEdge: number): Promise<DecodedFrame> {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: LOADERS.map((loader) => `VipsForeignLoad${loader}`) });
  sharp.concurrency(1);
  sharp.cache(false);
  if (bytes.length === 0) throw notAnImage();
  const image = await openImage(bytes);
  const { width, height } = await image.metadata().catch((cause: unknown) => {
    throw isPixelLimitError(cause) ? tooLarge() : notAnImage(cause);
  });
  if (width * height > MAX_PIXELS) throw tooLarge();
  const { data, info } = await image
    .autoOrient()
    .resize({ width: maxEdge, height: maxEdge, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new UndecodableMediaError('damaged: the image cannot be decoded completely', { cause });
    });
  return { width: info.width, height: info.height, rgba: data };
}

async function openImage(bytes: Buffer): Promise<Sharp> {
  if (isHeic(bytes)) {
    const { decodeHeic } = await import('./heic-decoding.ts');
    const { width, height, rgba } = await decodeHeic(bytes, MAX_PIXELS);
    return sharp(rgba, { raw: { width, height, channels: 4 }, limitInputPixels: MAX_PIXELS });
  }
  return sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', sequentialRead: true });
}

/** A JPEG of pixels that are ours already. */
export async function encodeJpeg({ width, height, rgba }: DecodedFrame): Promise<Buffer> {
  return sharp(rgba, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .jpeg({ quality: JPEG_QUALITY })
    .toBuffer();
}

function isPixelLimitError(error: unknown): boolean {
  return error instanceof Error && error.message.includes('pixel limit');
}

function notAnImage(cause?: unknown): UndecodableMediaError {
  return new UndecodableMediaError('not an image that can be read', { cause });
}

function tooLarge(): UndecodableMediaError {
  return new UndecodableMediaError(`larger than ${MAX_PIXELS / 1_000_000} megapixels`, { kind: 'too_many_pixels' });
}

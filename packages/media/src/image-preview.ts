/** A small copy of an image within a number of bytes, by sharp. Runs in media children only. */
import sharp from 'sharp';
import { decodeImageBytes } from './image-decoding.ts';
import type { DecodedFrame } from './video-decoding.ts';
import type { PreviewBounds } from './preview.ts';

/** Good to look at, and good enough where the first is too large: noise takes many bytes at any quality. */
const QUALITIES = [80, 55];
/** If neither fits, the image is shrunk in such steps. */
const SHRINK = 0.7;

/** @returns a JPEG in `rgba`, with its size in pixels. @throws {UndecodableMediaError} */
export async function createPreview(
  bytes: Buffer,
  { maxEdge, maxBytes, quality: best }: PreviewBounds,
): Promise<DecodedFrame> {
  const { width, height, rgba } = await decodeImageBytes(bytes, maxEdge);
  for (let scale = 1; ; scale *= SHRINK) {
    const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
    for (const quality of best === undefined ? QUALITIES : [best, ...QUALITIES]) {
      const jpeg = await sharp(rgba, { raw: { width, height, channels: 4 } })
        .resize({ ...size, fit: 'fill' })
        .flatten({ background: '#fff' })
        .jpeg({ quality })
        .toBuffer();
      if (jpeg.length <= maxBytes) return { ...size, rgba: jpeg };
    }
    if (size.width === 1 && size.height === 1) throw new RangeError(`no image fits into ${maxBytes} bytes`);
  }
}

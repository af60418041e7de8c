/** The test provider's results: real PNG files whose bytes depend on the prompt alone. */
import { createHash } from 'node:crypto';
import sharp from 'sharp';

/** Width and height of every image, in pixels. */
const IMAGE_SIZE = 64;

/** A plain image in a colour that depends on the prompt, with a smaller square in another. */
export async function drawImage(prompt: string): Promise<Buffer> {
  const [r = 0, g = 0, b = 0, r2 = 0, g2 = 0, b2 = 0] = createHash('sha256').update(prompt).digest();
  const square = { create: { width: 24, height: 24, channels: 3 as const, background: { r: r2, g: g2, b: b2 } } };
  return sharp({ create: { width: IMAGE_SIZE, height: IMAGE_SIZE, channels: 3, background: { r, g, b } } })
    .composite([{ input: square, left: 20, top: 20 }])
    .png()
    .toBuffer();
}

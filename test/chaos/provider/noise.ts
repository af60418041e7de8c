/** An incompressible image: about 250 kB, the same for the same prompt. */
import { createCipheriv, createHash } from 'node:crypto';
import sharp from 'sharp';

const SIZE = 290;
const CHANNELS = 3;

export async function drawNoise(prompt: string): Promise<Buffer> {
  const key = createHash('sha256').update(prompt).digest();
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  const pixels = cipher.update(Buffer.alloc(SIZE * SIZE * CHANNELS));
  return sharp(pixels, { raw: { width: SIZE, height: SIZE, channels: CHANNELS } })
    .png()
    .toBuffer();
}

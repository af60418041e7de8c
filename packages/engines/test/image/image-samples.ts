/** What the image tests share: running an engine on files, images made for them, and measures of pixels. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import type { EngineFile, EngineInput } from '../../src/engine.ts';
import type { Pixels } from '../../src/image/finish/pixels.ts';
import { ENGINES } from '../../src/registry.ts';

const directory = mkdtempSync(path.join(os.tmpdir(), 'darkroom-images-'));
// Not in a hook, which would belong to the first of several files that share this process.
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
let files = 0;

/** Writes a file for an engine to read. @returns its path. */
export async function fileOf(bytes: Uint8Array): Promise<string> {
  files += 1;
  const file = path.join(directory, `${files}`);
  await writeFile(file, bytes);
  return file;
}

/** Files as an engine receives them: field → bytes. */
export async function mediaOf(given: Readonly<Record<string, Uint8Array>>): Promise<ReadonlyMap<string, EngineFile>> {
  const media = new Map<string, EngineFile>();
  for (const [position, bytes] of Object.entries(given))
    media.set(position, { mimeType: 'image/png', path: await fileOf(bytes) });
  return media;
}

/** All files that an engine renders. */
export async function renderAll(
  engine: string,
  input: EngineInput,
  options: { readonly seed?: number; readonly media?: Readonly<Record<string, Uint8Array>> } = {},
): Promise<Buffer[]> {
  const { seed = 1, media = {} } = options;
  const run = ENGINES.get(engine);
  assert.ok(run);
  const rendered = await run({ input, seed, media: await mediaOf(media), scratch: directory, progress() {} });
  return await Promise.all(
    rendered.map(async (file) => ('bytes' in file ? Buffer.from(file.bytes) : await readFile(file.path))),
  );
}

/** The one file that an engine renders. */
export async function render(...work: Parameters<typeof renderAll>): Promise<Buffer> {
  const [file, ...others] = await renderAll(...work);
  assert.ok(file && others.length === 0);
  return file;
}

/** The pixels of an encoded image. */
export async function pixelsOf(bytes: Buffer): Promise<Pixels> {
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return {
    width: info.width,
    height: info.height,
    data: new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength),
  };
}

/** The pixels of an image, from a function of the colour at each position in fractions of its sides. */
export function painted(
  width: number,
  height: number,
  colourAt: (x: number, y: number) => readonly [red: number, green: number, blue: number],
): Pixels {
  const data = new Uint8ClampedArray(width * height * 4);
  for (let index = 0; index < width * height; index++) {
    data.set(
      [...colourAt(((index % width) + 0.5) / width, (Math.floor(index / width) + 0.5) / height), 255],
      index * 4,
    );
  }
  return { width, height, data };
}

/** A blue sky over green ground, a red ball in the middle of it. */
export function landscape(width = 120, height = 90): Pixels {
  return painted(width, height, (x, y) => {
    if (Math.hypot((x - 0.5) * (width / height), y - 0.62) < 0.2) return [200, 44, 36];
    return y < 0.5 ? [90 + y * 120, 150 + y * 100, 225] : [70 + y * 20, 130 + y * 20, 60];
  });
}

/** An image as the bytes of a file. */
export async function png({ width, height, data }: Pixels): Promise<Buffer> {
  return await sharp(Buffer.from(data), { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
}

/** A part of an image, in fractions of its sides. */
export interface Area {
  readonly left?: number;
  readonly top?: number;
  readonly right?: number;
  readonly bottom?: number;
}

function* positionsIn(
  { width, height }: Pixels,
  { left = 0, top = 0, right = 1, bottom = 1 }: Area,
): Generator<number> {
  for (let row = Math.floor(top * height); row < Math.floor(bottom * height); row++) {
    for (let column = Math.floor(left * width); column < Math.floor(right * width); column++)
      yield (row * width + column) * 4;
  }
}

/** The mean colour of a part. */
export function meanOf(pixels: Pixels, area: Area = {}): { red: number; green: number; blue: number; light: number } {
  const sums = [0, 0, 0];
  let count = 0;
  for (const position of positionsIn(pixels, area)) {
    for (let channel = 0; channel < 3; channel++)
      sums[channel] = (sums[channel] ?? 0) + (pixels.data[position + channel] ?? 0);
    count += 1;
  }
  const [red = 0, green = 0, blue = 0] = sums.map((sum) => sum / count);
  return { red, green, blue, light: red * 0.3 + green * 0.59 + blue * 0.11 };
}

/** Mean difference of two images of one size over all channels of a part, 0 to 255. */
export function differenceOf(first: Pixels, second: Pixels, area: Area = {}): number {
  assert.deepEqual([first.width, first.height], [second.width, second.height]);
  let [sum, count] = [0, 0];
  for (const position of positionsIn(first, area)) {
    for (let channel = 0; channel < 3; channel++) {
      sum += Math.abs((first.data[position + channel] ?? 0) - (second.data[position + channel] ?? 0));
    }
    count += 3;
  }
  return sum / count;
}

/** How much neighbours differ in a part: detail, 0 to 255. */
export function detailOf(pixels: Pixels, area: Area = {}): number {
  let [sum, count] = [0, 0];
  for (const position of positionsIn(pixels, area)) {
    sum += Math.abs((pixels.data[position + 1] ?? 0) - (pixels.data[position + 5] ?? pixels.data[position + 1] ?? 0));
    count += 1;
  }
  return sum / count;
}

/** The fraction of the pixels for which a condition holds. */
export function shareOf(
  pixels: Pixels,
  holds: (red: number, green: number, blue: number) => boolean,
  area: Area = {},
): number {
  let [found, count] = [0, 0];
  for (const position of positionsIn(pixels, area)) {
    if (holds(pixels.data[position] ?? 0, pixels.data[position + 1] ?? 0, pixels.data[position + 2] ?? 0)) found += 1;
    count += 1;
  }
  return found / count;
}

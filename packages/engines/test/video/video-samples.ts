/** What the video tests share: small videos, sampled once per second, and files made for them. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import { planVideo } from '../../src/video/video.ts';
import { renderFrames } from '../../src/video/video-rendering.ts';
import type { EngineFile, EngineInput } from '../../src/engine.ts';
import { openVideo } from '@darkroom/media/encode';

export const directory = mkdtempSync(path.join(os.tmpdir(), 'darkroom-videos-'));
// Not in a hook, which would belong to the first of several files that share this process.
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

type Media = Readonly<Record<string, string>>;

/** Files as an engine receives them: field → path. */
export function mediaOf(files: Media): ReadonlyMap<string, EngineFile> {
  return new Map(
    Object.entries(files).map(([position, file]) => [position, { mimeType: 'application/octet-stream', path: file }]),
  );
}

/** A rendered frame. */
export interface Sample {
  readonly width: number;
  readonly height: number;
  readonly rgba: Buffer;
}

/** The frames of a video, at half the size of 480p, at a given rate per second. */
export async function sample(
  input: EngineInput,
  options: { seed?: number; media?: Media; perSecond?: number } = {},
): Promise<Sample[]> {
  const { seed = 1, media = {}, perSecond = 1 } = options;
  const plan = await planVideo({ input: { resolution: '480p', draft: true, ...input }, seed, media: mediaOf(media) });
  const seconds = plan.video.frames / plan.video.fps;
  const found: Sample[] = [];
  await renderFrames({ ...plan.video, fps: perSecond, frames: Math.floor(seconds * perSecond) }, async (frame) => {
    found.push({ width: frame.width, height: frame.height, rgba: Buffer.from(frame.bytes) });
  });
  return found;
}

/** A part of a frame, in fractions of its size. */
export interface Area {
  readonly left?: number;
  readonly top?: number;
  readonly right?: number;
  readonly bottom?: number;
}

/** Mean difference of two frames over all colour channels, 0 to 255. */
export function difference(first: Sample | undefined, second: Sample | undefined, area: Area = {}): number {
  if (first === undefined || second === undefined || first.width !== second.width)
    throw new RangeError('no such frames');
  const { left = 0, top = 0, right = 1, bottom = 1 } = area;
  let [sum, count] = [0, 0];
  for (let y = Math.floor(top * first.height); y < Math.floor(bottom * first.height); y++) {
    for (let x = Math.floor(left * first.width); x < Math.floor(right * first.width); x++) {
      for (let channel = 0; channel < 3; channel++) {
        const position = (y * first.width + x) * 4 + channel;
        sum += Math.abs((first.rgba[position] ?? 0) - (second.rgba[position] ?? 0));
        count += 1;
      }
    }
  }
  return sum / count;
}

/** The mean colour of a frame: red, green, blue. */
export function meanColour({ rgba }: Pick<Sample, 'rgba'>): [number, number, number] {
  const sums: [number, number, number] = [0, 0, 0];
  for (let position = 0; position < rgba.length; position += 4) {
    sums[0] += rgba[position] ?? 0;
    sums[1] += rgba[position + 1] ?? 0;
    sums[2] += rgba[position + 2] ?? 0;
  }
  const count = rgba.length / 4;
  return [sums[0] / count, sums[1] / count, sums[2] / count];
}

/** An image of four parts of different colours that meet off its centre. @returns its path. */
export async function quarters(name: string, width: number, height: number): Promise<string> {
  const file = path.join(directory, name);
  const [x, y] = [Math.round(width * 0.4), Math.round(height * 0.35)];
  const part = (background: string, left: number, top: number) => ({
    input: {
      create: {
        width: left === 0 ? x : width - x,
        height: top === 0 ? y : height - y,
        channels: 3 as const,
        background,
      },
    },
    left,
    top,
  });
  await sharp({ create: { width, height, channels: 3, background: '#c02020' } })
    .composite([part('#20a040', x, 0), part('#e0c020', 0, y), part('#8020a0', x, y)])
    .png()
    .toFile(file);
  return file;
}

/** A clip that changes from one grey of a colour to a brighter one. @returns its path. */
export async function clip(name: string, colour: readonly [number, number, number], seconds: number): Promise<string> {
  const file = path.join(directory, name);
  const [width, height, fps] = [160, 90, 12];
  const writer = await openVideo({ path: file, width, height, fps, quality: 'standard' });
  const frames = Math.round(seconds * fps);
  for (let index = 0; index < frames; index++) {
    const light = 0.5 + 0.5 * (index / Math.max(1, frames - 1));
    const pixel = Buffer.from([...colour.map((value) => Math.round(value * light)), 255]);
    await writer.write(Buffer.alloc(width * height * 4, pixel));
  }
  await writer.finish();
  return file;
}

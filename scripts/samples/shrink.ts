/**
 * Makes a file small enough for a page that shows many: an image as WebP, a video of a few seconds without audio, an
 * audio file as M4A.
 */
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { decodeAudio, framesAt, openClip } from '@darkroom/media/decode';
import { openVideo, writeAudio } from '@darkroom/media/encode';

export interface Shrunk {
  readonly kind: 'image' | 'video' | 'audio';
  readonly file: string;
  readonly poster?: string;
  readonly width?: number;
  readonly height?: number;
}

/** For each file: twenty of them are still little. */
const MOST_BYTES = 60_000;
const IMAGE_EDGES = [960, 720, 640, 560, 480] as const;
const IMAGE_QUALITY = 78;
const FILM_EDGES = [560, 480, 384, 320, 256] as const;
const VIDEO_FPS = 12;
const FILM_SECONDS = 4;
const SOUND_RATE = 32_000;
const SOUND_KBPS = 56;
const SOUND_SECONDS = 6;

/** @param target without the extension. @throws {Error} it cannot be made small enough. */
export async function shrink(file: string, mimeType: string, target: string): Promise<Shrunk> {
  if (mimeType.startsWith('image/')) return shrinkImage(await readFile(file), target);
  return mimeType.startsWith('video/') ? shrinkVideo(file, target) : shrinkAudio(file, target);
}

async function shrinkImage(bytes: Buffer | Sharp, target: string): Promise<Shrunk> {
  const source = Buffer.isBuffer(bytes) ? sharp(bytes) : bytes;
  for (const edge of IMAGE_EDGES) {
    const image = source.clone().resize(edge, edge, { fit: 'inside', withoutEnlargement: true });
    const { data, info } = await image.webp({ quality: IMAGE_QUALITY }).toBuffer({ resolveWithObject: true });
    if (data.length > MOST_BYTES) continue;
    await writeFile(`${target}.webp`, data);
    return { kind: 'image', file: `${path.basename(target)}.webp`, width: info.width, height: info.height };
  }
  throw new Error(`${target} does not get small enough`);
}

async function shrinkVideo(file: string, target: string): Promise<Shrunk> {
  const [still] = await framesAt(file, { moments: ['first'], maxEdge: FILM_EDGES[0] });
  if (still === undefined) throw new Error('the video has no frame');
  const raw = { width: still.width, height: still.height, channels: 4 } as const;
  const { file: poster } = await shrinkImage(sharp(still.rgba, { raw }), `${target}-still`);
  for (const edge of FILM_EDGES) {
    const factor = edge / Math.max(still.width, still.height);
    const [width, height] = [even(still.width * factor), even(still.height * factor)];
    await writeFilm(file, `${target}.mp4`, width, height);
    const { size } = await stat(`${target}.mp4`);
    if (size <= MOST_BYTES) return { kind: 'video', file: `${path.basename(target)}.mp4`, poster, width, height };
  }
  throw new Error(`${target} does not get small enough`);
}

async function writeFilm(from: string, to: string, width: number, height: number): Promise<void> {
  const clip = await openClip(from, { width, height, fps: VIDEO_FPS, maxFrames: VIDEO_FPS * FILM_SECONDS });
  const video = await openVideo({ path: to, width, height, fps: VIDEO_FPS, quality: 'draft' });
  for await (const frame of clip.frames) await video.write(frame);
  await video.finish();
}

async function shrinkAudio(from: string, target: string): Promise<Shrunk> {
  const { channels } = await decodeAudio(from, { sampleRate: SOUND_RATE, maxSeconds: SOUND_SECONDS });
  await writeAudio({
    path: `${target}.m4a`,
    format: 'aac',
    inputRate: SOUND_RATE,
    sampleRate: SOUND_RATE,
    channels: 2,
    samples: channels,
    bitrateKbps: SOUND_KBPS,
  });
  return { kind: 'audio', file: `${path.basename(target)}.m4a` };
}

/** H.264 does not support odd sizes. */
function even(length: number): number {
  return Math.max(2, Math.round(length / 2) * 2);
}

/** What the media tests write and measure: tones and plain frames, and how to recognize them. */
import { openVideo } from '../src/encode.ts';
import type { VideoQuality } from '../src/encode.ts';

/** A tone of half the full level. */
export function tone(hertz: number, sampleRate: number, seconds: number): Float32Array {
  return Float32Array.from(
    { length: Math.round(sampleRate * seconds) },
    (_, index) => 0.5 * Math.sin((2 * Math.PI * hertz * index) / sampleRate),
  );
}

/** A tone's pitch: from its first upward zero crossing to its last, found between samples. */
export function pitchOf(samples: Float32Array, sampleRate: number): number {
  const crossings: number[] = [];
  for (let index = 1; index < samples.length; index += 1) {
    const [before, after] = [samples[index - 1] ?? 0, samples[index] ?? 0];
    if (before < 0 && after >= 0) crossings.push(index - after / (after - before));
  }
  const [first = 0, last = 0] = [crossings[0], crossings.at(-1)];
  return ((crossings.length - 1) * sampleRate) / (last - first);
}

/** The level of the middle half, as a root mean square: not affected by the ends of a codec's output. */
export function levelOf(samples: Float32Array): number {
  const middle = samples.subarray(samples.length / 4, (samples.length * 3) / 4);
  return Math.sqrt(middle.reduce((sum, sample) => sum + sample * sample, 0) / middle.length);
}

/** RGBA of one colour. */
export function plain(width: number, height: number, [red, green, blue]: readonly number[]): Buffer {
  const rgba = Buffer.alloc(width * height * 4);
  rgba.fill(Buffer.from([red ?? 0, green ?? 0, blue ?? 0, 255]));
  return rgba;
}

/** The colour of one pixel. */
export function colourAt(rgba: Buffer, width: number, x: number, y: number): readonly [number, number, number] {
  const at = (y * width + x) * 4;
  return [rgba[at] ?? 0, rgba[at + 1] ?? 0, rgba[at + 2] ?? 0];
}

/** The distance of two colours, in the channel where they differ most. */
export function distance(one: readonly number[], other: readonly number[]): number {
  return Math.max(...one.map((value, channel) => Math.abs(value - (other[channel] ?? 0))));
}

/** The colour of a video's nth frame: red encodes its number, in steps that survive compression. */
export function frameColour(index: number): readonly [number, number, number] {
  return [20 + index * 8, 60, 120];
}

/** Writes a video of plain frames, each of its own colour. */
export async function writeVideo(options: {
  readonly path: string;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
  readonly frames: number;
  readonly quality?: VideoQuality;
  readonly audio?: { readonly path: string };
}): Promise<void> {
  const { frames, ...rest } = options;
  const writer = await openVideo({ quality: 'standard', ...rest });
  for (let index = 0; index < frames; index += 1) {
    await writer.write(plain(options.width, options.height, frameColour(index)));
  }
  await writer.finish();
}

/** All items. */
export async function collected<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

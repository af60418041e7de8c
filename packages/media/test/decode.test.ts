/** Promises of decoding good files: upright, in the right colours, at the right moments. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { decodeImage, decodeAudio, framesAt, jpegOf, lastFrameOf, openClip } from '../src/decode.ts';
import { openVideo, writeAudio } from '../src/encode.ts';
import { deriveFrames } from '../src/frames.ts';
import { PACKAGE_DIRECTORY } from '../src/program-files.ts';
import { collected, colourAt, distance, frameColour, levelOf, pitchOf, tone, writeVideo } from './samples.ts';

const RED = [200, 30, 40] as const;
const BLUE = [30, 40, 200] as const;

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'decode-'));
});
after(() => rm(directory, { recursive: true }));

/** Red on the left, blue on the right. */
async function twoHalves(width: number, height: number): Promise<Sharp> {
  const half = { width: width / 2, height, channels: 3 as const };
  const blue = await sharp({ create: { ...half, background: { r: BLUE[0], g: BLUE[1], b: BLUE[2] } } })
    .png()
    .toBuffer();
  return sharp({ create: { width, height, channels: 3, background: { r: RED[0], g: RED[1], b: RED[2] } } }).composite([
    { input: blue, left: width / 2, top: 0 },
  ]);
}

describe('decoding an image', () => {
  async function stored(name: string, bytes: Buffer): Promise<string> {
    const file = path.join(directory, name);
    await writeFile(file, bytes);
    return file;
  }

  it('returns the pixels of every supported type', async () => {
    const image = await twoHalves(80, 40);
    const kinds = {
      png: await image.clone().png().toBuffer(),
      'deep.png': await image.clone().toColourspace('rgb16').png().toBuffer(),
      jpg: await image.clone().jpeg({ quality: 95 }).toBuffer(),
      'cmyk.jpg': await image.clone().toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer(),
      webp: await image.clone().webp({ lossless: true }).toBuffer(),
      gif: await image.clone().gif().toBuffer(),
      avif: await image.clone().avif({ quality: 90 }).toBuffer(),
    };
    for (const [kind, bytes] of Object.entries(kinds)) {
      const { width, height, rgba } = await decodeImage(await stored(`image.${kind}`, bytes), { maxEdge: 1000 });

      assert.deepEqual([width, height, rgba.length], [80, 40, 80 * 40 * 4], kind);
      // CMYK inks cannot print these colours exactly.
      const tolerance = kind.startsWith('cmyk') ? 80 : 12;
      assert.ok(distance(colourAt(rgba, 80, 20, 20), RED) < tolerance, `${kind}: ${colourAt(rgba, 80, 20, 20).join()}`);
      assert.ok(
        distance(colourAt(rgba, 80, 60, 20), BLUE) < tolerance,
        `${kind}: ${colourAt(rgba, 80, 60, 20).join()}`,
      );
    }
  });

  it('rotates an image as its EXIF orientation says', async () => {
    const turned = await (await twoHalves(80, 40)).withMetadata({ orientation: 6 }).jpeg().toBuffer();

    const { width, height, rgba } = await decodeImage(await stored('turned.jpg', turned), { maxEdge: 1000 });

    // Orientation 6: the first row is the right side, so the left part comes on top.
    assert.deepEqual([width, height], [40, 80]);
    assert.ok(distance(colourAt(rgba, 40, 20, 20), RED) < 12);
    assert.ok(distance(colourAt(rgba, 40, 20, 60), BLUE) < 12);
  });

  it('decodes photographs of phones, turned as their container says, and writes them as JPEG', async () => {
    // Blue in the upper left quarter, and the same a quarter turn against the clock.
    for (const [name, width, height, x, y] of [
      ['plain.heic', 320, 240, 40, 40],
      ['turned.heic', 240, 320, 40, 280],
    ] as const) {
      const file = path.join(PACKAGE_DIRECTORY, 'test/files', name);
      const image = await decodeImage(file, { maxEdge: 1000 });
      const { jpeg } = await jpegOf(file);
      const again = await sharp(jpeg).ensureAlpha().raw().toBuffer({ resolveWithObject: true });

      for (const [rgba, size] of [
        [image.rgba, image],
        [again.data, again.info],
      ] as const) {
        assert.deepEqual([size.width, size.height], [width, height]);
        assert.ok(distance(colourAt(rgba, width, x, y), [40, 90, 200]) < 10, name);
        assert.ok(distance(colourAt(rgba, width, width - 40, height / 2), [200, 60, 40]) < 10, name);
      }
    }
  });

  it('keeps transparency, and fits large images into the longest edge', async () => {
    const background = { r: 10, g: 200, b: 30, alpha: 0.5 };
    const bytes = await sharp({ create: { width: 300, height: 200, channels: 4, background } })
      .png()
      .toBuffer();

    const { width, height, rgba } = await decodeImage(await stored('clear.png', bytes), { maxEdge: 150 });

    assert.deepEqual([width, height], [150, 100]);
    // Shrinking weighs colours by their alpha, and rounds.
    assert.ok(distance(colourAt(rgba, 150, 75, 50), [10, 200, 30]) <= 2);
    assert.equal(rgba[3], 128);
  });

  it('decodes the first frame of an animated image, under any file name', async () => {
    const frames = await Promise.all(
      [RED, BLUE].map(([r, g, b]) =>
        sharp({ create: { width: 20, height: 20, channels: 3, background: { r, g, b } } })
          .png()
          .toBuffer(),
      ),
    );
    const animated = await sharp(frames, { join: { animated: true } })
      .gif({ delay: [100, 100] })
      .toBuffer();

    const { height, rgba } = await decodeImage(await stored(`a "b"\n'c' [page=1].gif`, animated), { maxEdge: 100 });

    assert.equal(height, 20);
    assert.ok(distance(colourAt(rgba, 20, 10, 10), RED) < 12);
  });
});

describe('decoding audio', () => {
  it('copies mono to both channels at the same level, resamples to the requested rate, and stops at the requested length', async () => {
    const file = path.join(directory, 'mono.wav');
    const samples = [tone(440, 22_050, 2)];
    await writeAudio({ path: file, format: 'wav', inputRate: 22_050, sampleRate: 22_050, channels: 1, samples });

    const { channels, seconds } = await decodeAudio(file, { sampleRate: 48_000, maxSeconds: 1.5 });

    assert.equal(seconds, 1.5);
    assert.equal(channels[0].length, 72_000);
    assert.deepEqual(channels[1], channels[0]);
    assert.ok(Math.abs(levelOf(channels[0]) - 0.5 / Math.SQRT2) < 0.005, `level ${levelOf(channels[0])}`);
    assert.ok(Math.abs(pitchOf(channels[0], 48_000) - 440) < 0.5);
  });
});

describe('decoding a video', () => {
  let video: string;
  before(async () => {
    video = path.join(directory, `a "video"\n'of' ours.mp4`);
    await writeVideo({ path: video, width: 160, height: 96, fps: 12, frames: 24, quality: 'high' });
  });

  async function numbersOf(options: Partial<Parameters<typeof openClip>[1]>): Promise<readonly number[]> {
    const clip = await openClip(video, { width: 64, height: 64, fps: 12, maxFrames: 100, ...options });
    const numbers: number[] = [];
    for await (const frame of clip.frames) {
      numbers.push(Math.round((colourAt(frame, options.width ?? 64, 30, 30)[0] - 20) / 8));
    }
    return numbers;
  }

  it('returns its metadata', async () => {
    const { durationSeconds, width, height, hasAudio, close } = await openClip(video, {
      width: 32,
      height: 32,
      fps: 12,
      maxFrames: 1,
    });
    await close();

    assert.deepEqual(
      { durationSeconds, width, height, hasAudio },
      { durationSeconds: 2, width: 160, height: 96, hasAudio: false },
    );
  });

  it('returns for each moment the frame that a player would show', async () => {
    const all = Array.from({ length: 24 }, (_, index) => index);

    assert.deepEqual(await numbersOf({}), all);
    assert.deepEqual(
      await numbersOf({ fps: 6 }),
      all.filter((number) => number % 2 === 0),
    );
    assert.deepEqual(await numbersOf({ fps: 24, maxFrames: 9 }), [0, 0, 1, 1, 2, 2, 3, 3, 4]);
    assert.deepEqual(await numbersOf({ startSeconds: 1.5 }), [18, 19, 20, 21, 22, 23]);
    assert.deepEqual(await numbersOf({ startSeconds: 0.25, fps: 4 }), [3, 6, 9, 12, 15, 18, 21]);
  });

  it('covers the requested size without distortion, and applies the rotation of a phone', async () => {
    // A square in the middle of a wide video, and the same video with the display matrix of a phone held upright.
    const wide = path.join(directory, 'wide.mp4');
    const writer = await openVideo({ path: wide, width: 160, height: 80, fps: 10, quality: 'high' });
    const frame = await (await twoHalves(160, 80)).ensureAlpha().raw().toBuffer();
    await writer.write(frame);
    await writer.finish();
    const bytes = await readFile(wide);
    const matrix = bytes.indexOf('tkhd') + 4 + 40;
    // Each is 16.16 except for the last of a row: a quarter turn clockwise.
    for (const [index, value] of [0, 1, 0, -1, 0].entries()) bytes.writeInt32BE(value * 65_536, matrix + index * 4);
    const turned = path.join(directory, 'turned.mp4');
    await writeFile(turned, bytes);

    const [upright] = await collected(
      (await openClip(turned, { width: 40, height: 80, fps: 10, maxFrames: 1 })).frames,
    );
    assert.ok(upright);
    assert.ok(distance(colourAt(upright, 40, 20, 10), RED) < 12, colourAt(upright, 40, 20, 10).join());
    assert.ok(distance(colourAt(upright, 40, 20, 70), BLUE) < 12);

    const [square] = await collected((await openClip(wide, { width: 60, height: 60, fps: 10, maxFrames: 1 })).frames);
    assert.ok(square);
    assert.ok(distance(colourAt(square, 60, 20, 30), RED) < 12);
    assert.ok(distance(colourAt(square, 60, 40, 30), BLUE) < 12);
  });

  it('returns single frames of any moment', async () => {
    const [first, third, second, beyond] = await framesAt(video, {
      moments: ['first', { fraction: 1 / 3 }, { seconds: 0.5 }, { seconds: 99 }],
      maxEdge: 80,
    });
    assert.deepEqual([first?.width, first?.height], [80, 48]);
    for (const [image, index] of [
      [first, 0],
      [third, 8],
      [second, 6],
      [beyond, 23],
    ] as const) {
      assert.ok(image);
      assert.ok(distance(colourAt(image.rgba, 80, 40, 24), frameColour(index)) <= 3, `frame ${index}`);
    }
    const last = await lastFrameOf(video, { maxEdge: 4096 });
    assert.deepEqual([last.width, last.height], [160, 96]);
    assert.ok(distance(colourAt(last.rgba, 160, 80, 48), frameColour(23)) <= 3);
  });

  it('creates the images that accompany a video', async () => {
    const large = path.join(directory, 'large.mp4');
    await writeVideo({ path: large, width: 640, height: 360, fps: 12, frames: 13, quality: 'high' });

    const { first, last, thumbnail } = await deriveFrames(large);

    for (const [image, size, index] of [
      [first, [640, 360], 0],
      [last, [640, 360], 12],
      [thumbnail, [512, 288], 4],
    ] as const) {
      const { data, info } = await sharp(image.jpeg).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
      assert.deepEqual([info.width, info.height], size);
      assert.deepEqual([image.width, image.height], size);
      assert.ok(distance(colourAt(data, info.width, 100, 100), frameColour(index)) <= 5, `frame ${index}`);
    }
  });
});

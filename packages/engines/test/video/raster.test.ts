/** Promises of the compositing: what is drawn where, to the pixel. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bitmapOfRgba, createBitmap, trimmed } from '../../src/video/raster/bitmap.ts';
import { dissolve, grade } from '../../src/video/raster/blending.ts';
import { createFrame, draw } from '../../src/video/raster/drawing.ts';
import { createSprite, stamp } from '../../src/video/raster/sprites.ts';

const WHITE = 0xffffffff;
const BLACK = 0xff000000;

/** An image of columns: black, white, black, … each the given number of pixels wide. */
function stripes(width: number, height: number, wide: number): Uint32Array {
  return Uint32Array.from({ length: width * height }, (_, index) =>
    Math.floor((index % width) / wide) % 2 === 0 ? BLACK : WHITE,
  );
}

describe('drawing a bitmap', () => {
  it('copies it unchanged when it is neither moved nor scaled', () => {
    const bitmap = createBitmap(stripes(40, 30, 3), 40, 30, true);
    const frame = createFrame(40, 30);

    draw(frame, bitmap, { x: 0, y: 0 });

    // The last row and column have no neighbour to be mixed with, and are skipped.
    for (let y = 0; y < 29; y++) {
      for (let x = 0; x < 39; x++) assert.equal(frame.pixels[y * 40 + x], bitmap.pixels[y * 40 + x]);
    }
  });

  it('moves it by whole pixels, and mixes neighbours half-way between', () => {
    const bitmap = createBitmap(stripes(40, 30, 1), 40, 30, true);
    const frame = createFrame(20, 10);

    draw(frame, bitmap, { x: -3, y: -2 });
    assert.equal(frame.pixels[0], WHITE);
    assert.equal(frame.pixels[1], BLACK);

    draw(frame, bitmap, { x: -2.5, y: -2 });
    assert.equal((frame.pixels[5] ?? 0) & 255, 127);
  });

  it('scales it round its corner', () => {
    const bitmap = createBitmap(stripes(40, 30, 10), 40, 30, true);
    const frame = createFrame(60, 40);

    draw(frame, bitmap, { x: 0, y: 0, scale: 2 });

    assert.equal(frame.pixels[20 * 60 + 5], BLACK);
    assert.equal(frame.pixels[20 * 60 + 30], WHITE);
    assert.equal(frame.pixels[20 * 60 + 50], BLACK);
  });

  it('skips empty pixels, covers with opaque ones, and blends half transparent ones', () => {
    const pixels = new Uint32Array(64 * 8);
    for (let index = 0; index < pixels.length; index++) {
      const x = index % 64;
      pixels[index] = x < 20 ? 0 : x < 42 ? WHITE : 0x80808080;
    }
    const frame = createFrame(64, 8);

    draw(frame, createBitmap(pixels, 64, 8), { x: 0, y: 0 });

    assert.equal(frame.pixels[2 * 64 + 5], BLACK);
    assert.equal(frame.pixels[2 * 64 + 30], WHITE);
    const grey = (frame.pixels[2 * 64 + 55] ?? 0) & 255;
    assert.ok(grey > 120 && grey < 136, String(grey));
  });

  it('adds light up to white, and shades', () => {
    const frame = createFrame(32, 8);
    const bitmap = createBitmap(new Uint32Array(32 * 8).fill(0xff8080c0), 32, 8, true);

    draw(frame, bitmap, { x: 0, y: 0, shade: [128, 256, 0] });
    assert.equal(frame.pixels[3 * 32 + 3], 0xff008060);

    draw(frame, bitmap, { x: 0, y: 0, isLight: true });
    draw(frame, bitmap, { x: 0, y: 0, isLight: true });
    assert.equal((frame.pixels[3 * 32 + 3] ?? 0) & 255, 255);
  });

  it('never writes outside the frame', () => {
    const bitmap = createBitmap(stripes(40, 30, 3), 40, 30, true);
    const frame = createFrame(16, 16);
    for (const [x, y] of [
      [-39, 0],
      [15, 0],
      [0, -29],
      [0, 15],
      [-100, -100],
      [200, 3],
    ] as const) {
      draw(frame, bitmap, { x, y, scale: 1.37 });
      draw(frame, bitmap, { x, y, lean: { foot: 10, by: 0.3 } });
    }
    assert.equal(frame.pixels.length, 256);
    assert.ok(frame.pixels.every((pixel) => pixel >>> 24 === 255));
  });
});

describe('bitmaps', () => {
  it('are trimmed to their content', () => {
    const pixels = new Uint32Array(50 * 40);
    pixels[20 * 50 + 30] = WHITE;
    const found = trimmed(pixels, 50, 40);

    assert.deepEqual([found?.left, found?.top, found?.bitmap.width, found?.bitmap.height], [29, 19, 3, 3]);
    assert.equal(trimmed(new Uint32Array(50 * 40), 50, 40), undefined);
  });

  it('are premultiplied', () => {
    const bitmap = bitmapOfRgba(Uint8Array.from([200, 100, 50, 128, 1, 2, 3, 255, 9, 9, 9, 0, 0, 0, 0, 255]), 2, 2);

    assert.deepEqual([...bitmap.pixels], [0x80193264, 0xff030201, 0, 0xff000000]);
  });
});

describe('sprites and whole frames', () => {
  it('a sprite is drawn where it is stamped, also between pixels', () => {
    const dot = createSprite({ width: 4, height: 4 }, (context) => {
      context.fillStyle = '#ffffff';
      context.fillRect(-2, -2, 4, 4);
    });
    const frame = createFrame(20, 20);

    stamp(frame, dot, 10, 10);
    assert.equal(frame.pixels[10 * 20 + 10], WHITE);
    assert.equal(frame.pixels[10 * 20 + 13], BLACK);

    const other = createFrame(20, 20);
    stamp(other, dot, 10.5, 10);
    const edge = (other.pixels[10 * 20 + 12] ?? 0) & 255;
    assert.ok(edge > 100 && edge < 156, String(edge));
  });

  it('a dissolve goes from one frame to the other', () => {
    const [frame, other] = [createFrame(8, 8), createFrame(8, 8)];
    other.pixels.fill(WHITE);

    dissolve(frame, other, 0.5);
    assert.equal((frame.pixels[9] ?? 0) & 255, 127);
    dissolve(frame, other, 1);
    assert.equal(frame.pixels[9], WHITE);
  });

  it('a look without colour makes all channels equal', () => {
    const frame = createFrame(4, 4);
    frame.pixels.fill(0xff2040c0);
    const same = Uint8Array.from({ length: 256 }, (_, value) => value);

    grade(frame, { red: same, green: same, blue: same, strength: 0 });
    const pixel = frame.pixels[5] ?? 0;
    assert.equal(pixel & 255, (pixel >>> 8) & 255);
    assert.equal(pixel & 255, (pixel >>> 16) & 255);
  });
});

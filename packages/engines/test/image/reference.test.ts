/** Promises of how reference images are placed into a scene: what of them is cut out, and how it is lit. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inOnePiece, isFace } from '../../src/image/analysis/one-piece.ts';
import { findNamed } from '../../src/image/analysis/named-thing.ts';
import { findSubject } from '../../src/image/analysis/subject-mask.ts';
import { readPrompt } from '../../src/image/prompt-reading.ts';
import { meanOf, painted, pixelsOf, png, render, shareOf } from './image-samples.ts';

const SMALL = '256x256';

/** A vase on plain grey. */
const vase = painted(240, 240, (x, y) =>
  Math.hypot((x - 0.5) * 1.6, y - 0.55) < 0.3 ? [30, 70, 190] : [205, 200, 195],
);

describe('a subject in one piece', () => {
  it('excludes the ground around it', () => {
    // An orange object in front of a green hill, both of which stand out from the sky.
    const image = painted(240, 180, (x, y) => {
      if (Math.hypot((x - 0.5) * 1.33, y - 0.6) < 0.16) return [225, 110, 30];
      const hill = 0.55 + 0.2 * Math.abs(x - 0.5);
      return y > hill ? [100 + y * 40, 150 + y * 20, 80] : [150, 190, 230 - y * 30];
    });
    const piece = inOnePiece(image, findSubject(image));
    const at = (x: number, y: number): number =>
      piece.mask.values[Math.floor(y * 180) * 240 + Math.floor(x * 240)] ?? -1;
    assert.ok(at(0.5, 0.6) > 0.8);
    assert.ok(at(0.2, 0.8) < 0.1 && at(0.8, 0.8) < 0.1);
    assert.ok(piece.clarity > 0.3, `${piece.clarity}`);
  });

  it('is not found for a band of land, or a face', () => {
    const band = painted(240, 180, (x, y) =>
      y > 0.5 && y < 0.7 && x > 0.02 && x < 0.98 ? [120, 40, 60] : [180, 200, 220],
    );
    assert.ok(inOnePiece(band, findSubject(band)).clarity < 0.3);
    const face = painted(200, 200, (x, y) => (Math.hypot(x - 0.5, y - 0.5) < 0.28 ? [226, 178, 146] : [60, 90, 70]));
    assert.ok(isFace(face, findSubject(face)));
    assert.ok(!isFace(vase, findSubject(vase)));
  });
});

describe('finding a named thing', () => {
  it('uses its colour and position among others', () => {
    const image = painted(240, 180, (x, y) => {
      if (Math.hypot((x - 0.25) * 1.33, y - 0.2) < 0.09) return [210, 40, 40];
      if (Math.abs(x - 0.7) < 0.1 && Math.abs(y - 0.66) < 0.08) return [240, 240, 235];
      return y < 0.5 ? [130, 180, 225] : [40, 90, 140];
    });
    const balloon = findNamed(image, readPrompt('red balloon').mentions[0]!);
    assert.ok(balloon && balloon.right < 0.45 && balloon.bottom < 0.45, JSON.stringify(balloon?.left));
    const boat = findNamed(image, readPrompt('white boat').mentions[0]!);
    assert.ok(boat && boat.left > 0.5 && boat.top > 0.5);
  });
});

describe('a scene with a reference', () => {
  it('stands in the light that its prompt names', async () => {
    const media = { 'image_urls.0': await png(vase) };
    const image = async (prompt: string): Promise<ReturnType<typeof meanOf>> =>
      meanOf(await pixelsOf(await render('scene', { prompt, size: SMALL }, { media })), { bottom: 0.25 });
    const [night, noon] = [await image('a beach at night'), await image('a beach at noon')];
    assert.ok(night.light < noon.light * 0.6, JSON.stringify([night, noon]));
  });

  it('shows the subject in it, not its background', async () => {
    const media = { 'image_urls.0': await png(vase) };
    const bytes = await render('scene', { prompt: 'a meadow at noon', size: SMALL }, { media });
    const image = await pixelsOf(bytes);
    assert.ok(
      shareOf(image, (red, green, blue) => blue > red + 60 && blue > green + 50 && red < 90, { top: 0.5 }) > 0.01,
    );
  });
});

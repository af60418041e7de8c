/** Promises of the scene engine about each field that a model may accept (spec §2.5): its effect on the output. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { UndecodableMediaError } from '../../src/engine.ts';
import { compose } from '../../src/image/composition.ts';
import type { Composition } from '../../src/image/composition.ts';
import { readNegation, without } from '../../src/image/negative-prompt.ts';
import { readPrompt } from '../../src/image/prompt-reading.ts';
import { upsampled } from '../../src/image/prompt-upsampling.ts';
import { createRandom } from '@darkroom/seeded-random/random';
import { readSceneRequest } from '../../src/image/scene-request.ts';
import { detailOf, differenceOf, meanOf, painted, pixelsOf, png, render, renderAll, shareOf } from './image-samples.ts';

const SMALL = '256x256';

function composed(prompt: string, negative = '', seed = 1): Composition {
  const reading = readPrompt(prompt);
  const named = negative === '' ? reading : without(reading, readNegation(negative));
  return compose(named, createRandom(seed).fork('composition'));
}

describe('n', () => {
  it('sets the number of different images, the first of which is the one rendered alone', async () => {
    const input = { prompt: 'a house by a lake', size: SMALL };
    const [alone] = await renderAll('scene', input);
    const several = await renderAll('scene', { ...input, n: 4 });

    assert.equal(several.length, 4);
    assert.ok(alone && several[0]?.equals(alone));
    const images = await Promise.all(several.map(pixelsOf));
    for (const [index, one] of images.entries()) {
      for (const other of images.slice(index + 1)) assert.ok(differenceOf(one, other) > 4);
    }
  });
});

describe('quality', () => {
  it('changes the amount of detail, and not the content', async () => {
    const input = { prompt: 'a castle on a hill at noon', size: '512x512' };
    const [low, medium, high] = await Promise.all(
      ['low', 'medium', 'high'].map(async (quality) => pixelsOf(await render('scene', { ...input, quality }))),
    );
    assert.ok(low && medium && high);

    assert.ok(detailOf(low) * 1.3 < detailOf(medium), `${detailOf(low)} and ${detailOf(medium)}`);
    const sky = { top: 0.05, bottom: 0.4 };
    assert.ok(differenceOf(medium, high, sky) > 2, 'high quality has clouds that medium has not');
    assert.ok(differenceOf(low, medium) < 8, 'the same castle');
    const explicit = await render('scene', { ...input, quality: 'medium' });
    assert.ok(explicit.equals(await render('scene', input)), 'medium is the default');
  });
});

describe('negative_prompt', () => {
  it('excludes what it names, whether the prompt names it or the engine would add it', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const { mentions, absent } = composed('a fox by a lake', 'trees, mountains, birds', seed);
      for (const thing of ['tree', 'pine', 'forest', 'mountain', 'bird'] as const)
        assert.ok(!mentions.has(thing), thing);
      assert.ok(absent.has('tree') && absent.has('pine'), 'no tree is added by a painter either');
      assert.ok(mentions.has('fox'));
    }
    assert.ok(!composed('a boat and a fox', 'animals').mentions.has('fox'));
    assert.ok(!composed('two people and a dog', 'people').mentions.has('person'));
    assert.notEqual(composed('a village in winter', 'winter').season, 'winter');
    assert.ok(!composed('hills in the rain', 'rain').weather.has('rain'));
    for (let seed = 1; seed <= 12; seed++) assert.notEqual(composed('hills, neon', 'night', seed).time, 'night');
  });

  it('removes clouds from the sky', async () => {
    const input = { prompt: 'three clouds over hills at noon', size: SMALL };
    const [cloudy, clear] = await Promise.all(
      [{}, { negative_prompt: 'clouds' }].map(async (more) => pixelsOf(await render('scene', { ...input, ...more }))),
    );
    assert.ok(cloudy && clear);
    const sky = { bottom: 0.4 };

    assert.ok(differenceOf(cloudy, clear, sky) > 2);
    assert.ok(detailOf(clear, sky) < detailOf(cloudy, sky));
  });

  it('leaves no pixel of a colour that it names', async () => {
    const input = { prompt: 'a red car in a green meadow at noon', size: SMALL };
    const isGreen = (red: number, green: number, blue: number): boolean => green > red + 24 && green > blue + 24;
    const plain = await pixelsOf(await render('scene', input));
    const changed = await pixelsOf(await render('scene', { ...input, negative_prompt: 'green' }));

    assert.ok(shareOf(plain, isGreen) > 0.1);
    assert.ok(shareOf(changed, isGreen) < 0.003, `${shareOf(changed, isGreen)}`);
  });

  it('removes lettering: the image is that of the prompt without its quotation', async () => {
    const lettered = await render('scene', { prompt: 'sea at noon "HELLO"', size: SMALL, negative_prompt: 'text' });
    const bare = await render('scene', { prompt: 'sea at noon', size: SMALL });
    assert.ok(differenceOf(await pixelsOf(lettered), await pixelsOf(bare)) < 0.5);
  });

  it('removes a style', async () => {
    const styled = await pixelsOf(
      await render('scene', { prompt: 'hills, noir', size: SMALL, negative_prompt: 'black and white' }),
    );
    const { red, green, blue } = meanOf(styled);
    assert.ok(Math.max(red, green, blue) - Math.min(red, green, blue) > 6);
  });
});

describe('`no` and `without` in a prompt', () => {
  it('exclude things that the engine would add, not only named ones', () => {
    const { absent, mentions } = composed('a lake without trees and no clouds');
    assert.ok(absent.has('tree') && absent.has('pine') && absent.has('cloud'));
    assert.ok(!mentions.has('pine') && !mentions.has('cloud'));
    assert.ok(composed('no rain, mountains').mentions.has('mountain'));
  });
});

describe('prompt_upsampling', () => {
  it("fills in what the prompt leaves open, adds companions, and keeps the prompt's own words", () => {
    const reading = readPrompt('a castle in winter');
    const rich = upsampled(reading, createRandom(3));
    assert.ok(rich.mentions.length >= reading.mentions.length + 3);
    assert.equal(rich.mentions[0]?.thing, 'castle');
    assert.equal(rich.mentions[0]?.material, 'stone');
    assert.equal(rich.season, 'winter');
    assert.ok(rich.time !== undefined && rich.weather.size === 1);
    assert.equal(upsampled(readPrompt('a castle at noon in the rain'), createRandom(3)).time, 'noon');
  });

  it('renders an image with more content', async () => {
    const input = { prompt: 'a lake', size: SMALL };
    const plain = await pixelsOf(await render('scene', input));
    const rich = await pixelsOf(await render('scene', { ...input, prompt_upsampling: true }));
    assert.ok(differenceOf(plain, rich) > 6);
    const off = await render('scene', { ...input, prompt_upsampling: false });
    assert.ok(off.equals(await render('scene', input)));
  });
});

describe('aspect_ratio auto', () => {
  const shapeOf = (prompt: string, reference?: { width: number; height: number }): number => {
    const { width, height } = readSceneRequest({ prompt, aspect_ratio: 'auto' }, reference).pixels;
    return width / height;
  };

  it('is chosen from the prompt', () => {
    assert.ok(shapeOf('portrait of a woman') < 1);
    assert.ok(shapeOf('a tall lighthouse') < 1);
    assert.ok(shapeOf('panorama of the alps') > 1.5);
    assert.equal(shapeOf('an app icon of a fox'), 1);
  });

  it('is that of the reference image if there is one', () => {
    assert.ok(Math.abs(shapeOf('hills', { width: 1600, height: 900 }) - 16 / 9) < 0.01);
    assert.ok(Math.abs(shapeOf('hills', { width: 600, height: 800 }) - 3 / 4) < 0.01);
  });
});

describe('image_urls', () => {
  it('all appear in the scene', async () => {
    const colours = [
      [230, 20, 220],
      [20, 235, 30],
      [250, 240, 20],
    ] as const;
    const media: Record<string, Buffer> = {};
    for (const [index, colour] of colours.entries()) {
      media[`image_urls.${index}`] = await png(
        painted(80, 60, (x, y) => (x > 0.3 && x < 0.7 && y > 0.3 ? [90, 90, 90] : colour)),
      );
    }
    const image = await pixelsOf(await render('scene', { prompt: 'a beach at noon', size: '512x512' }, { media }));
    for (const colour of colours) {
      const isIt = (...pixel: readonly number[]): boolean =>
        pixel.every((value, channel) => Math.abs(value - (colour[channel] ?? 0)) < 40);
      assert.ok(shareOf(image, isIt) > 0.004, colour.join());
    }
  });

  it('give the scene their colours and time of day', async () => {
    const input = { prompt: 'hills', size: SMALL };
    const violet = await png(painted(90, 60, (_x, y) => (y < 0.6 ? [120 + y * 60, 40, 160] : [60, 20, 80])));
    const dark = await png(painted(90, 60, (_x, y) => (y < 0.6 ? [8, 12, 34] : [4, 6, 12])));
    const sky = { left: 0.4, right: 0.6, top: 0.02, bottom: 0.12 };
    const plain = meanOf(await pixelsOf(await render('scene', { ...input, prompt: 'hills at noon' })), sky);
    const inViolet = meanOf(await pixelsOf(await render('scene', input, { media: { 'image_urls.0': violet } })), sky);
    const inDark = meanOf(await pixelsOf(await render('scene', input, { media: { 'image_urls.0': dark } })), sky);

    assert.ok(inViolet.red > inViolet.green + 30 && inViolet.blue > inViolet.green + 40, JSON.stringify(inViolet));
    assert.ok(inDark.light < plain.light / 2, JSON.stringify(inDark));
  });

  it("are rejected with the field's path when one is not an image", async () => {
    const media = { 'image_urls.0': await png(painted(20, 20, () => [9, 9, 9])), 'image_urls.1': Buffer.from('text') };
    await assert.rejects(
      render('scene', { prompt: 'hills', size: SMALL }, { media }),
      (error) =>
        error instanceof UndecodableMediaError &&
        error.message.startsWith('image_urls.1: ') &&
        error.fault.field === 'image_urls.1',
    );
  });
});

describe('prompts that do not describe a landscape', () => {
  it('are rendered as a portrait, a still life or a room', () => {
    const expected = {
      'portrait of a woman with red hair': 'portrait',
      'a cup of coffee on a wooden table': 'table',
      'an apple and a candle': 'table',
      'a cozy living room with a fireplace': 'room',
      'a cat on a sofa': 'room',
      'a library': 'room',
      'a book on a bench in the forest': 'land',
      'a portrait of a fox': 'land',
      'a clock tower in a city': 'water',
    } as const;
    for (const [prompt, setting] of Object.entries(expected)) assert.equal(composed(prompt).setting, setting, prompt);
  });

  it('show the details that the prompt names', async () => {
    const face = { left: 0.4, right: 0.6, top: 0.02, bottom: 0.16 };
    const hair = async (colour: string): Promise<ReturnType<typeof meanOf>> =>
      meanOf(
        await pixelsOf(
          await render('scene', { prompt: `portrait of a woman with long ${colour} hair at noon`, size: SMALL }),
        ),
        face,
      );
    const [red, black] = [await hair('red'), await hair('black')];
    assert.ok(red.red > red.blue + 40, JSON.stringify(red));
    assert.ok(black.light < red.light, JSON.stringify(black));

    const bytes = await render('scene', { prompt: 'a lemon on a table', size: SMALL });
    assert.ok(shareOf(await pixelsOf(bytes), (r, g, b) => r > 170 && g > 130 && b < 110) > 0.01);
    assert.ok((await sharp(bytes).stats()).entropy > 5);
  });
});

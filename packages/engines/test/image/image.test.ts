/**
 * Promises of the image engines: which prompts change the image, what never fails, and that the same input gives the
 * same bytes. The engines are called directly; that they run in threads is tested with the pool.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import type { EngineInput } from '../../src/engine.ts';
import { render as renderWith } from './image-samples.ts';

function render(engine: 'scene' | 'poster' | 'swatch', input: EngineInput, seed = 1): Promise<Buffer> {
  return renderWith(engine, input, { seed });
}

/** Mean difference of two images over all channels, 0 to 255, between two fractions of their height. */
async function difference(first: Buffer, second: Buffer, top = 0, bottom = 1): Promise<number> {
  const [a, b] = await Promise.all(
    [first, second].map(async (bytes) => {
      const { width, height } = await sharp(bytes).metadata();
      const part = { left: 0, top: Math.round(height * top), width, height: Math.round(height * (bottom - top)) };
      return await sharp(bytes).extract(part).removeAlpha().raw().toBuffer();
    }),
  );
  assert.ok(a && b);
  return a.reduce((sum, value, index) => sum + Math.abs(value - (b[index] ?? 0)), 0) / a.length;
}

/** Mean colour of an image's part, in fractions of its height. */
async function meanColour(
  bytes: Buffer,
  top: number,
  bottom: number,
): Promise<{ red: number; green: number; blue: number }> {
  const { width, height } = await sharp(bytes).metadata();
  const part = await sharp(bytes)
    .extract({ left: 0, top: Math.round(height * top), width, height: Math.round(height * (bottom - top)) })
    .png()
    .toBuffer();
  // `stats` reads the source and ignores operations on it, hence the intermediate image.
  const [red, green, blue] = (await sharp(part).stats()).channels;
  return { red: red?.mean ?? 0, green: green?.mean ?? 0, blue: blue?.mean ?? 0 };
}

describe('the scene engine', () => {
  it('renders the same bytes for the same prompt, seed, size and format', async () => {
    for (const output_format of ['png', 'jpeg', 'webp']) {
      const input = { prompt: 'a cat in the snow at night, watercolour, "Miau"', output_format };
      assert.ok((await render('scene', input)).equals(await render('scene', input)), output_format);
    }
  });

  it('renders a different image for another seed or another prompt', async () => {
    const plain = await render('scene', { prompt: 'a house by a lake, noon' });

    assert.ok((await difference(plain, await render('scene', { prompt: 'a house by a lake, noon' }, 2))) > 2);
    assert.ok((await difference(plain, await render('scene', { prompt: 'a castle by a lake, noon' }))) > 2);
  });

  it('renders each style with its characteristics', async () => {
    const shape = { aspect_ratio: '21:9' };
    const channels = async (style: string): Promise<{ red: number; green: number; blue: number }> =>
      meanColour(await render('scene', { ...shape, prompt: `red house, mountains at noon, ${style}` }), 0, 0.6);

    const plain = await channels('');
    const noir = await channels('noir');
    assert.ok(plain.blue > plain.red + 15, 'the sky at noon is blue');
    assert.ok(Math.abs(noir.red - noir.blue) < 3 && Math.abs(noir.red - noir.green) < 3, 'noir is grey');
    const vintage = await channels('vintage');
    assert.ok(vintage.red > vintage.blue, 'old film is warm');
    const neon = await channels('neon');
    assert.ok(neon.green < neon.blue && neon.green < neon.red, 'neon is magenta');

    const watercolour = await render('scene', { ...shape, prompt: 'night sea, watercolour' });
    const corner = await meanColour(watercolour, 0, 0.01);
    assert.ok(corner.red > 225 && corner.green > 225, 'the paper shows at the border');

    const pixel = await sharp(await render('scene', { ...shape, prompt: 'mountains, pixel art' }))
      .raw()
      .toBuffer({ resolveWithObject: true });
    assert.deepEqual(
      pixel.data.subarray(0, 4),
      pixel.data.subarray(pixel.info.width * 4, pixel.info.width * 4 + 4),
      'pixels are blocks',
    );

    const [minimal, natural] = await Promise.all(
      ['minimal', ''].map((style) => render('scene', { ...shape, prompt: `hills, ${style}` })),
    );
    assert.ok((minimal?.length ?? 0) * 4 < (natural?.length ?? 0), 'flat colours compress');
  });

  it('makes night darker than noon, a red sky red, and winter ground white', async () => {
    const sum = ({ red, green, blue }: { red: number; green: number; blue: number }): number => red + green + blue;
    const [noon, night, red, winter] = await Promise.all(
      ['sea at noon', 'sea at night', 'sea at noon, red sky', 'a field in winter at noon'].map((prompt) =>
        render('scene', { prompt }),
      ),
    );
    assert.ok(noon && night && red && winter);

    assert.ok(sum(await meanColour(noon, 0, 0.4)) > sum(await meanColour(night, 0, 0.4)) * 2);
    const sky = await meanColour(red, 0, 0.4);
    assert.ok(sky.red > sky.blue * 1.2, JSON.stringify(sky));
    const ground = await meanColour(winter, 0.7, 0.95);
    assert.ok(Math.min(ground.red, ground.green, ground.blue) > 150, JSON.stringify(ground));
  });

  it('renders an image for a prompt without known words, a different one for each prompt', async () => {
    const [first, second] = await Promise.all([
      render('scene', { prompt: 'qwertz' }),
      render('scene', { prompt: 'epistemology' }),
    ]);
    assert.ok(first && second);

    assert.ok((await sharp(first).stats()).entropy > 4);
    assert.ok((await difference(first, second)) > 4);
  });

  it('letters quoted text over the same image, in the alphabets of the font', async () => {
    const shape = { aspect_ratio: '16:9' };
    for (const style of ['', ', neon', ', ink']) {
      const [bare, ...lettered] = await Promise.all(
        ['', ' "MMMMMM"', ' "Жлоб"', ' “Ωμέγα”'].map((text) =>
          render('scene', { ...shape, prompt: `sea at noon${style}${text}` }),
        ),
      );
      assert.ok(bare);
      for (const [index, image] of lettered.entries()) {
        assert.ok((await difference(bare, image, 0, 0.4)) > 3, `no lettering ${index}${style}`);
        assert.ok((await difference(bare, image, 0.55, 1)) < 0.01, `another image ${index}${style}`);
      }
    }
  });

  it('shrinks a long text so that it stays above the middle', async () => {
    const shape = { aspect_ratio: '1:1' };
    const [bare, long] = await Promise.all(
      ['', ` "${'endless sentences of words '.repeat(80)}"`].map((text) =>
        render('scene', { ...shape, prompt: `sea at noon${text}` }),
      ),
    );
    assert.ok(bare && long);

    assert.ok((await difference(bare, long, 0, 0.4)) > 1);
    assert.ok((await difference(bare, long, 0.5, 1)) < 0.01);
  });

  it('encodes in the requested format', async () => {
    const prompt = 'hills';
    assert.equal((await render('scene', { prompt })).subarray(0, 8).toString('latin1'), '\u0089PNG\r\n\u001a\n');
    assert.equal((await render('scene', { prompt, output_format: 'jpeg' })).subarray(0, 3).toString('hex'), 'ffd8ff');
    const webp = await render('scene', { prompt, output_format: 'webp' });
    assert.equal(`${webp.subarray(0, 4).toString()}${webp.subarray(8, 12).toString()}`, 'RIFFWEBP');
  });
});

describe('the poster engine', () => {
  it('ignores the seed of the task: the same prompt gives the same bytes, another variation different ones', async () => {
    const input = { prompt: 'a ship, "NORTH"' };
    const poster = await render('poster', input, 1);

    assert.ok(poster.equals(await render('poster', input, 2)));
    assert.ok(!poster.equals(await render('poster', { ...input, variation: 2 }, 1)));
  });

  it('prints with few colours', async () => {
    const bytes = await render('poster', { prompt: 'mountains and a lake at sunset' });
    const pixels = await sharp(bytes).removeAlpha().raw().toBuffer();
    const counts = new Map<number, number>();
    for (let position = 0; position < pixels.length; position += 3)
      counts.set(pixels.readUIntBE(position, 3), (counts.get(pixels.readUIntBE(position, 3)) ?? 0) + 1);
    const largest = [...counts.values()].toSorted((first, second) => second - first).slice(0, 8);

    assert.ok(largest.reduce((sum, count) => sum + count, 0) > (pixels.length / 3) * 0.85);
  });
});

describe('the swatch engine', () => {
  it('renders one colour, 16 x 16 pixels by default', async () => {
    const { width, height } = await sharp(await render('swatch', { prompt: 'x' })).metadata();
    assert.deepEqual([width, height], [16, 16]);
    const large = await sharp(await render('swatch', { prompt: 'x', width: 40, height: 20 })).metadata();
    assert.deepEqual([large.width, large.height], [40, 20]);
  });
});

describe('hostile prompts', () => {
  const prompts = {
    'of 4000 characters': 'mountain sea fox castle '.repeat(167).slice(0, 4000),
    'of 4000 characters in quotes': `"${'wordwithoutend'.repeat(300).slice(0, 3998)}"`,
    'of emoji': '👩‍👩‍👧‍👦🏳️‍🌈🦊 "ok 🔥🔥🔥 👨‍🚀"',
    'with unbalanced quotes': `"one 'two “three «four „five`,
    'with control characters': 'sea\u0000\u0007\u001b[31m "a\u0000b\u200f\u202ec" \ud800 "\udc00"',
    'of blanks': ' \n\t ',
    'of scripts without a font': '汉字漢字 កម្ពុជា 𒀀𒁀, "a 汉字漢字 កម្ពុជា 𒀀𒁀"',
    'of prototype names': 'constructor __proto__ toString hasOwnProperty',
    'of quotes': '"'.repeat(1001),
  };
  for (const [name, prompt] of Object.entries(prompts)) {
    it(`${name} give an image`, async () => {
      const input = { prompt, aspect_ratio: '21:9', output_format: 'jpeg' };
      assert.ok((await render('scene', input)).length > 1000);
      assert.ok((await render('poster', { prompt: prompt.slice(0, 1000), aspect_ratio: '1:1' })).length > 1000);
    });
  }
});

/** Promises of letters: text without a font is never omitted silently, and text with a font is drawn. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnusableInputError } from '../../src/unusable-input-error.ts';
import { isLetterable } from '../../src/image/fonts.ts';
import { differenceOf, landscape, pixelsOf, png, render } from './image-samples.ts';

const SCRIPTS = ['汉字漢字', 'ภาษาไทย', '한국어', '🔥🔥', '𒀀𒁀', '𒾐𒾑'];
/** A script without a font on this machine: hardly any machine has fonts for all of these scripts. */
const unknown = SCRIPTS.find((text) => !isLetterable(text));
const skip = unknown === undefined ? 'this machine has a font for every script' : false;

function isRejection(error: unknown): boolean {
  return error instanceof UnusableInputError && error.message.startsWith('prompt: ') && error.fault.field === 'prompt';
}

describe('letters that no installed font has', { skip }, () => {
  const text = unknown ?? '';

  it('fail a scene, a poster and an edit whose text consists of them', async () => {
    const prompt = `sea at noon, "${text}"`;
    await assert.rejects(render('scene', { prompt }), isRejection);
    await assert.rejects(render('poster', { prompt }), isRejection);
    const media = { 'image_urls.0': await png(landscape()) };
    await assert.rejects(render('edit', { prompt: `write "${text}" on it` }, { media }), isRejection);
  });

  it('fail the task even when another text can be drawn, or only punctuation remains', async () => {
    await assert.rejects(render('scene', { prompt: `sea, "hello" "${text}"` }), isRejection);
    if (/\p{L}/u.test(text)) await assert.rejects(render('scene', { prompt: `sea, "${text}!"` }), isRejection);
  });

  it('are omitted from a text whose other letters can be drawn', async () => {
    const images = await Promise.all(
      ['', '"go now"', `"go ${text} now"`].map((quoted) =>
        render('scene', { prompt: `sea at noon, ${quoted}`, size: '256x256' }),
      ),
    );
    const [bare, plain, mixed] = await Promise.all(images.map(pixelsOf));
    assert.ok(bare && plain && mixed);
    assert.ok(differenceOf(bare, mixed) > 1);
    assert.equal(differenceOf(plain, mixed), 0);
  });

  it('are accepted when they are not to be lettered', async () => {
    for (const engine of ['scene', 'poster'])
      assert.ok((await render(engine, { prompt: `${text}, sea`, aspect_ratio: '1:1' })).length > 1000);
    const input = { prompt: `sea, "${text}"`, negative_prompt: 'text', size: '256x256' };
    assert.ok((await render('scene', input)).length > 1000);
  });
});

describe('text that can be lettered', () => {
  it('includes every alphabet of the font, numbers, and punctuation alone', () => {
    for (const text of ['hello', 'Жлоб', 'Ωμέγα', 'Việt', 'e\u0301te\u0301', '2024', '!!!', '…', '—'])
      assert.ok(isLetterable(text), text);
  });

  it('ignores invisible characters', () => {
    for (const text of ['', ' ', '\u200b', '\u200f\u202e', '\u200d']) assert.ok(isLetterable(text));
  });
});

/**
 * Which fields of an input accept media, and how they are transformed; the rest is tested over HTTP
 * (test/http/chaining).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileViolations } from '../../src/schema/schema-validation.ts';
import {
  explainDataUrls,
  isAccepted,
  mediaOf,
  withPlainDataUrls,
  withTexts,
} from '../../src/tasks/record/input-media.ts';

const imageField = { type: 'string', contentMediaType: 'image/*' };

function mediaPathsOf(schema: Record<string, unknown>, input: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(mediaOf(schema, input).map(({ path, accepts }) => [path.join('.'), accepts.join()]));
}

describe('the media of an input', () => {
  it('are found wherever the schema marks them: fields, arrays, choices and definitions', () => {
    const schema = {
      type: 'object',
      $defs: { frame: { type: 'object', properties: { at: { type: 'number' }, image: imageField } } },
      properties: {
        prompt: { type: 'string' },
        image_url: imageField,
        image_urls: { type: 'array', items: imageField },
        pair: { type: 'array', prefixItems: [imageField, { type: 'string' }], items: { ...imageField } },
        either: { anyOf: [{ ...imageField }, { type: 'string', contentMediaType: 'video/*' }, { type: 'array' }] },
        frames: { type: 'array', items: { $ref: '#/$defs/frame' } },
      },
    };
    const input = {
      prompt: 'https://example.com/not-media.png',
      image_url: 'a',
      image_urls: ['b', 'c'],
      pair: ['d', 'not-media', 'e'],
      either: 'f',
      frames: [{ at: 0, image: 'g' }, { at: 1 }],
    };

    assert.deepEqual(mediaPathsOf(schema, input), {
      image_url: 'image/*',
      'image_urls.0': 'image/*',
      'image_urls.1': 'image/*',
      'pair.0': 'image/*',
      'pair.2': 'image/*',
      either: 'image/*,video/*',
      'frames.0.image': 'image/*',
    });
  });

  it('are none when a field is absent, of another type, or only named like one that an object inherits', () => {
    const properties = { image_url: imageField, constructor: imageField, toString: imageField };
    for (const input of [
      {},
      { image_url: 1 },
      { image_url: null },
      { image_url: ['a'] },
      { image_url: { url: 'a' } },
    ]) {
      assert.deepEqual(mediaPathsOf({ properties }, input), {}, JSON.stringify(input));
    }
  });

  it('are finite in a schema that refers to itself', () => {
    const schema = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
    assert.deepEqual(mediaPathsOf(schema, { image_url: 'a' }), {});
  });

  // Case 11: the schema of a model that takes files in requests has a pattern for them.
  it('are data URLs in one spelling, whichever a client chose', () => {
    const field = { ...imageField, pattern: '^(https?://|data:image/(png|jpeg|webp);base64,)' };
    const schema = { properties: { image: field, text: { type: 'string' } } };
    const plain = (image: string) => withPlainDataUrls(schema, { image, text: 'DATA:,' });
    for (const [sent, stored] of [
      ['data:image/png;charset=utf-8;base64,AAEC', 'data:image/png;base64,AAEC'],
      ['DATA:IMAGE/PNG;Base64,AAEC', 'data:image/png;base64,AAEC'],
      ['data:image/jpg;base64,AAE=', 'data:image/jpeg;base64,AAE='],
      ['data:image/png;base64,AAE%3D', 'data:image/png;base64,AAE='],
      ['data:image/png;base64,-_8', 'data:image/png;base64,+/8='],
      ['data:application/octet-stream;base64,iVBORw0KGgo=', 'data:image/png;base64,iVBORw0KGgo='],
      ['data:;base64,iVBORw0KGgo=', 'data:image/png;base64,iVBORw0KGgo='],
      ['data:image/png,%00%01%02', 'data:image/png;base64,AAEC'],
      ['https://example.com/a.png', 'https://example.com/a.png'],
      ['data:image/png;charset=utf-8;base64,A', 'data:image/png;charset=utf-8;base64,A'],
      ['data:image/png;name=a,b.png;base64,AAEC', 'data:image/png;name=a,b.png;base64,AAEC'],
    ] as const) {
      assert.deepEqual(plain(sent), { image: stored, text: 'DATA:,' }, sent);
    }
  });

  // Case 11: a schema bounds the length of URLs, which a data URL exceeds.
  it('are data URLs that are named as such where a field does not take them', () => {
    const urls = { type: 'array', maxItems: 3, items: { ...imageField, maxLength: 20 } };
    const schema = { type: 'object', properties: { image_urls: urls, prompt: { type: 'string', maxLength: 20 } } };
    const long = 'x'.repeat(20);
    const input = {
      image_urls: ['https://example.com/a', `https://${long}`, ` data:,${long}`],
      prompt: `data:,${long}`,
    };
    const problems = compileViolations(schema, 'invalid input')(input);

    assert.deepEqual(
      explainDataUrls(schema, input, problems).map(({ message }) => message),
      [
        'invalid input: image_urls.0: maxLength: got 21, want 20',
        'invalid input: image_urls.1: maxLength: got 28, want 20',
        'invalid input: image_urls.2: data URLs are not taken here; upload the file (POST /v1/files) and send its URL',
        'invalid input: prompt: maxLength: got 26, want 20',
      ],
    );
  });

  it('are replaced in a copy, whatever else the input contains', () => {
    const input = JSON.parse('{"image_urls":["a","b"],"__proto__":{"x":1},"prompt":"p"}') as Record<string, unknown>;
    const changed = withTexts(input, new Map([[['image_urls', '1'], 'new']]));

    assert.equal(JSON.stringify(changed), '{"image_urls":["a","new"],"__proto__":{"x":1},"prompt":"p"}');
    assert.equal(JSON.stringify(input), '{"image_urls":["a","b"],"__proto__":{"x":1},"prompt":"p"}');
  });

  it('are accepted by kind or by type', () => {
    assert.ok(isAccepted('image/png', ['image/*']));
    assert.ok(isAccepted('image/png', ['video/*', 'image/png']));
    assert.ok(isAccepted('audio/wav', ['*/*']));
    assert.ok(!isAccepted('image/png', ['image/jpeg', 'video/*']));
    assert.ok(!isAccepted('imagery/png', ['image/*']));
  });
});

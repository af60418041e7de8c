/**
 * Which fields of an input accept media, and how they are transformed; the rest is tested over HTTP
 * (test/http/chaining).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAccepted, mediaOf, withTexts } from '../../src/tasks/record/input-media.ts';

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

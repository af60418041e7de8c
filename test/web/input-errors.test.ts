/** What the playground shows about an input before it is sent: each error, once, at its field. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inputErrors } from '../../packages/dashboard/src/pages/playground/input-errors.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    prompt: { type: 'string', minLength: 1, maxLength: 10, pattern: '\\S' },
    image_urls: { type: 'array', maxItems: 2, items: { type: 'string', pattern: '^https://' } },
    camera: { type: 'object', properties: { zoom: { type: 'number', maximum: 3 } }, additionalProperties: false },
  },
  required: ['prompt'],
  additionalProperties: false,
} as const;

function told(input: unknown): readonly string[] {
  return inputErrors(SCHEMA, input).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('what is wrong with an input', () => {
  it('is nothing where it fits', () => {
    assert.deepEqual(told({ prompt: 'a boat', image_urls: ['https://a/b.png'], camera: { zoom: 2 } }), []);
  });

  it('is told once for a field, at whatever depth', () => {
    assert.deepEqual(told({ prompt: 'longer than ten', image_urls: ['https://a', 'x'], camera: { zoom: 4 } }), [
      'prompt: At most 10 characters.',
      'image_urls.1: This is not in the form that the model takes.',
      'camera.zoom: At most 3.',
    ]);
  });

  it('is a text of white space alone, in words and not as a pattern', () => {
    assert.deepEqual(told({ prompt: ' \n ' }), ['prompt: White space alone says nothing to the model.']);
  });

  it('names fields that the model does not have, there and below', () => {
    assert.deepEqual(told({ prompt: 'a boat', seed: 1, camera: { pan: 1 } }), [
      'camera.pan: The model does not know this field.',
      'seed: The model does not know this field.',
    ]);
  });

  it('names what is missing', () => {
    assert.deepEqual(told({}).length, 1);
    assert.match(told({})[0] ?? '', /^prompt: /);
  });
});

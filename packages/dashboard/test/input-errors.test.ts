/** What the playground shows about an input before it is sent: each error, once, at its field. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inputErrors } from '../src/pages/playground/input-errors.ts';

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

function messagesFor(input: unknown): readonly string[] {
  return inputErrors(SCHEMA, input).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('the validation errors of an input', () => {
  it('are empty when it is valid', () => {
    assert.deepEqual(messagesFor({ prompt: 'a boat', image_urls: ['https://a/b.png'], camera: { zoom: 2 } }), []);
  });

  it('are reported once for a field, at any depth', () => {
    assert.deepEqual(messagesFor({ prompt: 'longer than ten', image_urls: ['https://a', 'x'], camera: { zoom: 4 } }), [
      'prompt: Enter at most 10 characters.',
      'image_urls.1: Does not match the required format.',
      'camera.zoom: Must be at most 3.',
    ]);
  });

  it('include a text of white space alone, in words and not as a pattern', () => {
    assert.deepEqual(messagesFor({ prompt: ' \n ' }), ['prompt: This field cannot be blank.']);
  });

  it('name unknown fields, also nested ones', () => {
    assert.deepEqual(messagesFor({ prompt: 'a boat', seed: 1, camera: { pan: 1 } }), [
      'camera.pan: The model does not have this field.',
      'seed: The model does not have this field.',
    ]);
  });

  it('name missing fields', () => {
    assert.deepEqual(messagesFor({}).length, 1);
    assert.match(messagesFor({})[0] ?? '', /^prompt: /);
  });
});

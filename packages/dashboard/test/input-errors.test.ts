/** What the playground shows about an input before it is sent: each error, once, at its field. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inputErrors, serviceErrors } from '../src/pages/playground/input-errors.ts';

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

describe('the validation errors of the service', () => {
  const notFound = {
    message: 'invalid input: image_urls.1: not found',
    problem: 'not found',
    field: 'input.image_urls.1',
    keyword: 'url',
  };

  it('are shown at their fields, without repeating the field', () => {
    assert.deepEqual(serviceErrors(SCHEMA, [notFound], []), {
      fields: [{ path: ['image_urls', '1'], message: 'not found' }],
      others: [],
    });
  });

  it('are left out where the form has found an error itself', () => {
    const known = [{ path: ['image_urls'], message: 'Too many.' }];

    assert.deepEqual(serviceErrors(SCHEMA, [notFound], known), { fields: [], others: [] });
  });

  it('are shown whole where the form does not have the field', () => {
    const others = [
      { message: 'invalid request: callback.url: not public', problem: 'not public', field: 'callback.url' },
      { message: 'additional properties not allowed: seed', field: 'input.seed' },
    ].map((each) => ({ ...each, keyword: 'a' }));

    assert.deepEqual(serviceErrors(SCHEMA, others, []), { fields: [], others: others.map(({ message }) => message) });
  });
});

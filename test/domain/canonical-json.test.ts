import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalJson } from '../../src/domain/json.ts';

/** The same value with the fields of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, field]) => [name, reversed(field)] as const);
  return Object.fromEntries(entries.toReversed());
}

const parsedJson = fc.json().map((text): unknown => JSON.parse(text));

describe('canonical JSON', () => {
  it('is one text for every order of the fields', () => {
    fc.assert(
      fc.property(parsedJson, (value) => {
        assert.equal(canonicalJson(reversed(value)), canonicalJson(value));
      }),
    );
  });

  it('loses nothing: parsing it again yields the same value', () => {
    fc.assert(
      fc.property(parsedJson, (value) => {
        assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('distinguishes the order of an array, null and an absent field, a number and its string', () => {
    const texts = ['[1,2]', '[2,1]', '{}', '{"a":null}', '{"a":[]}', '{"a":{}}', '{"a":1}', '{"a":"1"}', '{"a":""}'];

    assert.equal(new Set(texts.map((text) => canonicalJson(JSON.parse(text)))).size, texts.length);
  });

  it('keeps fields that are named like members of every object', () => {
    const text = '{"__proto__":{"a":1},"constructor":2,"toString":3}';

    assert.equal(canonicalJson(JSON.parse(text)), text);
  });

  it('orders fields by their code units, independently of the locale', () => {
    assert.equal(canonicalJson(JSON.parse('{"é":1,"z":2,"Z":3,"10":4,"9":5}')), '{"10":4,"9":5,"Z":3,"z":2,"é":1}');
  });
});

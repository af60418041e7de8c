/** What is counted of JSON while it arrives: up to the exact bound, in pieces of any size. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { JSON_BOUNDS, JsonBoundsError, createJsonScanner } from '../../src/domain/json-scanner.ts';
import type { JsonBounds } from '../../src/domain/json-scanner.ts';

const SMALL: JsonBounds = { depth: 4, membersPerObject: 3, elementsPerArray: 5, values: 12, nameBytes: 20 };

/** @param pieces how many bytes arrive at a time. @returns the number of values, or what is wrong. */
function scan(text: string, bounds = JSON_BOUNDS, pieces = 7): number | string {
  const scanner = createJsonScanner(bounds);
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length; at += pieces) scanner.push(bytes.subarray(at, at + pieces));
  } catch (error) {
    assert.ok(error instanceof JsonBoundsError);
    return error.message;
  }
  return scanner.values;
}

/** The same for a parsed value; an empty object or array counts as if it had a member. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  const inside = Object.values(value);
  return 1 + inside.reduce((sum: number, member) => sum + valuesIn(member), 0) + (inside.length === 0 ? 1 : 0);
}

describe('JSON that arrives in pieces', () => {
  it('is counted as it will be parsed, whatever its texts contain and however it is split', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"', '\\', '\\"', '{[,', ',,,', '}]', '\\\\"{'),
    );
    const values = fc.jsonValue({ depthSize: 'medium', stringUnit: 'binary' });
    fc.assert(
      fc.property(fc.tuple(values, texts, texts), fc.integer({ min: 1, max: 9 }), ([value, text, key], pieces) => {
        const whole = [value, text, { [key]: text }];
        assert.equal(scan(JSON.stringify(whole), { ...JSON_BOUNDS, depth: 100 }, pieces), valuesIn(whole));
      }),
    );
  });

  it('may be exactly as deep, wide and large as the limits', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const object = (members: number) => `{${Array.from({ length: members }, (_, index) => `"a${index}":1`).join(',')}}`;
    const array = (elements: number) => `[${Array(elements).fill('1').join(',')}]`;
    const values = `[${array(4)},${array(4)}`;

    assert.equal(typeof scan(nested(4), SMALL), 'number');
    assert.match(String(scan(nested(5), SMALL)), /nested deeper than 4 levels/);
    assert.equal(scan(object(3), SMALL), 4);
    assert.match(String(scan(object(4), SMALL)), /an object of more than 3 members/);
    assert.equal(scan(array(5), SMALL), 6);
    assert.match(String(scan(array(6), SMALL)), /an array of more than 5 elements/);
    assert.equal(scan(`${values},1]`, SMALL), 12);
    assert.match(String(scan(`${values},1,1]`, SMALL)), /more than 12 values/);
  });

  it('may have member names up to the limit, counted as written; other texts are not counted as names', () => {
    const texts = fc.string({ unit: 'binary', minLength: 1 });
    fc.assert(
      fc.property(fc.dictionary(texts, texts), fc.integer({ min: 1, max: 9 }), (object, pieces) => {
        const text = JSON.stringify([object, 'a text', { 'ein Wört"chen': object }]);
        const names = ['ein Wört"chen', ...Object.keys(object), ...Object.keys(object)];
        const nameBytes = names.reduce((sum, name) => sum + Buffer.byteLength(JSON.stringify(name)) - 2, 0);

        assert.equal(typeof scan(text, { ...JSON_BOUNDS, nameBytes }, pieces), 'number');
        const fewer = { ...JSON_BOUNDS, nameBytes: nameBytes - 1 };
        assert.match(String(scan(text, fewer, pieces)), /more than \d+ bytes of member names/);
      }),
    );
  });

  it('is counted by level: closed levels are not counted', () => {
    assert.equal(typeof scan(`[${Array(4).fill('{"a":[],"b":[]}').join(',')}]`, { ...SMALL, values: 100 }), 'number');
    assert.equal(typeof scan(']]]]}}}}[[1]]', SMALL), 'number');
  });
});

/** Promise: the length of a text is its number of code points, and lone surrogates count as JSON Schema counts them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countCodePoints } from '../../src/schema/code-points.ts';

describe('the length of a text', () => {
  it('is the number of its code points', () => {
    for (const [text, length] of [
      ['', 0],
      ['abc', 3],
      ['é漢', 2],
      ['😀😀', 2],
      ['\ud83d', 1],
      ['\ude00\ud83d', 2],
      ['\ud83d\ud83d\ude00', 2],
    ] as const) {
      assert.equal(countCodePoints(text), length, JSON.stringify(text));
    }
  });

  it('is what iteration over it finds, lone surrogates included', () => {
    const unit = fc.integer({ min: 0xd7_f0, max: 0xe0_10 }).map((code) => String.fromCharCode(code));
    fc.assert(fc.property(fc.string({ unit }), (text) => countCodePoints(text) === Array.from(text).length));
  });
});

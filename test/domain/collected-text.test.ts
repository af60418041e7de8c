/** A text that arrives in pieces of any size: all of it is stored, in few parts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CollectedText } from '../../src/domain/collected-text.ts';

describe('a collected text', () => {
  it('is the same however it was split', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 3_000, size: 'max' }), (pieces) => {
        const collected = new CollectedText();
        for (const piece of pieces) collected.push(piece);

        assert.equal(collected.length, pieces.join('').length);
        assert.equal(collected.take(), pieces.join(''));
        assert.equal(collected.length, 0);
        assert.equal(collected.take(), '');
      }),
    );
  });

  it('of a million pieces is held in some two thousand', () => {
    const collected = new CollectedText();
    for (let count = 0; count < 1_000_000; count++) collected.push('x');

    assert.ok(collected.parts <= 2_048, `${collected.parts} parts`);
  });
});

/** Bytes that arrive in pieces of any size: all of them are stored, in few blocks. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CollectedBytes } from '../src/collected-bytes.ts';

const KB = 1_024;

describe('collected bytes', () => {
  it('are what came, in memory of their own, however they were cut', () => {
    const lengths = fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 200 * KB })));
    fc.assert(
      fc.property(lengths, (each) => {
        const collected = new CollectedBytes();
        const pieces = each.map((length, place) => Buffer.alloc(length, place + 1));
        const grown = pieces.map((piece) => collected.push(piece)).reduce((sum, bytes) => sum + bytes, 0);

        const expected = Buffer.concat(pieces);
        assert.equal(collected.length, expected.length);
        assert.equal(collected.heldBytes, grown);
        assert.ok(grown >= expected.length && grown <= Math.max(2 * expected.length, expected.length + KB));
        const whole = collected.take();
        assert.ok(whole.equals(expected));
        assert.equal(whole.buffer.byteLength, expected.length);
        assert.deepEqual([collected.length, collected.heldBytes, collected.blocks], [0, 0, 0]);
      }),
    );
  });

  it('of one byte each take a block of 64 kB for every 64 kB, and some small ones', () => {
    const collected = new CollectedBytes();
    for (let count = 0; count < 1_000_000; count++) collected.push(Buffer.of(count));

    assert.ok(collected.blocks <= 8 + 1_000_000 / (64 * KB), `${collected.blocks} blocks`);
    assert.ok(collected.heldBytes <= 1_000_000 + 64 * KB, `${collected.heldBytes} bytes`);
  });

  it('are copied: the piece may be used again', () => {
    const collected = new CollectedBytes();
    const piece = Buffer.from('before');
    collected.push(piece);
    piece.write('after!');

    assert.equal(collected.take().toString(), 'before');
  });
});

/** Bytes that arrive in pieces of any size: all of them are stored, in few blocks. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CollectedBytes } from '../src/collected-bytes.ts';

const KB = 1_024;

describe('collected bytes', () => {
  it('are the bytes that arrived, in memory of their own, in pieces of any size', () => {
    const lengths = fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 200 * KB })));
    fc.assert(
      fc.property(lengths, (each) => {
        const collected = new CollectedBytes();
        const pieces = each.map((length, index) => Buffer.alloc(length, index + 1));
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

  it('take one 64 kB block per 64 kB plus a few small ones when they arrive one by one', () => {
    const collected = new CollectedBytes();
    for (let count = 0; count < 1_000_000; count++) collected.push(Buffer.of(count));

    assert.ok(collected.blocks <= 8 + 1_000_000 / (64 * KB), `${collected.blocks} blocks`);
    assert.ok(collected.heldBytes <= 1_000_000 + 64 * KB, `${collected.heldBytes} bytes`);
  });

  it('are copied, so that the piece can be reused', () => {
    const collected = new CollectedBytes();
    const piece = Buffer.from('before');
    collected.push(piece);
    piece.write('after!');

    assert.equal(collected.take().toString(), 'before');
  });
});

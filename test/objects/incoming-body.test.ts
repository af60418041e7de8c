/** Pieces of a body on its way into a store: the store collects those of a part and writes each part by itself. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { IncomingBody } from '../../src/objects/stores/incoming-body.ts';
import { ObjectTooLargeError } from '../../src/objects/stores/object-store.ts';
import { sha256, slices } from './object-store-probe.ts';

const KB = 1_024;

async function piecesOf(body: IncomingBody): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of body.chunks()) pieces.push(piece);
  return pieces;
}

describe('the pieces of a body', () => {
  it('are merged when they are small', async () => {
    const bytes = randomBytes(100_000);
    const body = new IncomingBody(Readable.from(slices(bytes, 1)), {});

    const pieces = await piecesOf(body);

    assert.ok(pieces.length <= Math.ceil(bytes.length / (16 * KB)), `${pieces.length} pieces`);
    assert.ok(Buffer.concat(pieces).equals(bytes));
    assert.deepEqual(body.result(), { sizeBytes: bytes.length, sha256: sha256(bytes) });
  });

  it('stay in order when small and large ones alternate, and large ones are not copied', async () => {
    const sent = [1, 20 * KB, 5, 7, 16 * KB, 64 * KB, 16 * KB - 1, 3].map((length) => randomBytes(length));
    const body = new IncomingBody(Readable.from(sent), {});

    const pieces = await piecesOf(body);

    assert.ok(Buffer.concat(pieces).equals(Buffer.concat(sent)));
    assert.ok(pieces.includes(sent[1] ?? assert.fail()) && pieces.includes(sent[5] ?? assert.fail()));
  });

  it('end at the first byte beyond the limit', async () => {
    const body = new IncomingBody(Readable.from(slices(randomBytes(101), 1)), { maxBytes: 100 });

    await assert.rejects(piecesOf(body), ObjectTooLargeError);
    assert.ok(body.failure instanceof ObjectTooLargeError);
  });
});

/** Damaged and hostile media files: the same for the same seed, and as small as an attacker would send them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOSTILE_CONTAINERS } from '../src/hostile-containers.ts';
import { mutated } from '../src/mutations.ts';
import { createRandom } from '../src/random.ts';

const MAX_BYTES = 32 * 1024 * 1024;
/** Of MP4 (`ftyp` in the first box), Ogg, Matroska and AAC, in hexadecimal. */
const SIGNATURE = /^(?:.{8}66747970|4f676753|1a45dfa3|fff1)/;

describe('a mutated file', () => {
  it('differs from the sample, which stays as it is', () => {
    const sample = Buffer.alloc(1_000, 'sample');
    const before = Buffer.from(sample);

    const files = Array.from({ length: 50 }, (_, seed) => mutated(sample, createRandom(seed, 'mutations')));

    assert.deepEqual(sample, before);
    assert.ok(files.filter((file) => !file.equals(sample)).length > 40);
  });

  it('is the same for the same seed', () => {
    const sample = Buffer.alloc(1_000, 'sample');

    assert.deepEqual(mutated(sample, createRandom(1, 'same')), mutated(sample, createRandom(1, 'same')));
  });

  it('may be made of an empty one', () => {
    assert.equal(mutated(Buffer.alloc(0), createRandom(1, 'empty')).length, 0);
  });
});

describe('a hostile container', () => {
  for (const [name, make] of Object.entries(HOSTILE_CONTAINERS)) {
    it(`${name} is a file of its format, small enough to be sent`, () => {
      const file = make();
      const start = file.subarray(0, 8).toString('hex');

      assert.ok(file.length > 0 && file.length < MAX_BYTES, `${file.length}`);
      assert.match(start, SIGNATURE);
    });
  }
});

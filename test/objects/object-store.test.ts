import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assertKeyPrefix, assertObjectKey, isObjectKey } from '../../src/objects/stores/object-store.ts';

describe('an object key', () => {
  it('never leaves the directory that it is joined to, whatever the text', () => {
    const piece = fc.constantFrom('..', '.', '/', '//', 'a', '~', '\\', '\0', '%2e', 'B9', ' ', '\n');
    const text = fc.oneof(
      fc.string(),
      fc.array(piece).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, (key) => {
        if (isObjectKey(key)) assert.equal(path.join('/store', key), `/store/${key}`);
        else assert.throws(() => assertObjectKey(key), TypeError);
      }),
      { numRuns: 2000 },
    );
  });

  it('may be cut anywhere to form a prefix', () => {
    const key = 'tasks/tk-svc-01JD/.a..b/1-1.png';
    assertObjectKey(key);

    for (let length = 0; length <= key.length; length++) assertKeyPrefix(key.slice(0, length));
  });

  it('has at most 512 characters', () => {
    assert.equal(isObjectKey('x'.repeat(512)), true);
    assert.equal(isObjectKey('x'.repeat(513)), false);
  });

  it('is not repeated by the error, which may reach a log', () => {
    assert.throws(
      () => assertObjectKey('../secret'),
      (error) => error instanceof TypeError && !error.message.includes('secret'),
    );
  });
});

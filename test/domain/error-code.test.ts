import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { errorCodeOf } from '../../src/domain/darkroom-error.ts';

describe('the code of an error', () => {
  it('is that of the system', () => {
    assert.throws(
      () => readFileSync('/no/such/file'),
      (error) => errorCodeOf(error) === 'ENOENT',
    );
  });

  it('is undefined where there is none that is a text', () => {
    // A DOMException has a number.
    const errors = [new Error('no code'), AbortSignal.abort().reason, { code: 'ENOENT' }, 'ENOENT', undefined, null];

    assert.deepEqual(new Set(errors.map(errorCodeOf)), new Set([undefined]));
  });
});

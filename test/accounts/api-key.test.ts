import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { newApiKey, parseApiKey, secretsMatch } from '../../src/accounts/api-key.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('an API key', () => {
  // Proves C7-1.
  it('has the format of the contract, and parses into the fields that are stored', () => {
    for (let time = 0; time < 200; time++) {
      const key = newApiKey();

      assert.match(key.secret, /^dk_live_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/);
      assert.deepEqual(parseApiKey(key.secret), { id: key.id, secretSha256: key.secretSha256 });
    }
  });

  it('stores only the hash of its secret', () => {
    const { secret: key, secretSha256 } = newApiKey();
    const secret = key.split('_')[3]?.slice(0, 43) ?? '';

    assert.deepEqual(secretSha256, createHash('sha256').update(secret).digest());
  });

  it('is unique each time', () => {
    const keys = Array.from({ length: 1_000 }, () => newApiKey());

    assert.equal(new Set(keys.map((key) => key.id)).size, 1_000);
    assert.equal(new Set(keys.map((key) => key.secret)).size, 1_000);
  });

  // Proves C7-2.
  it('is rejected when any one character is changed', () => {
    const { secret: text } = newApiKey();
    const change = fc.tuple(fc.integer({ min: 8, max: text.length - 1 }), fc.constantFrom(...ALPHABET));
    fc.assert(
      fc.property(change, ([index, character]) => {
        fc.pre(text[index] !== character);
        assert.equal(parseApiKey(text.slice(0, index) + character + text.slice(index + 1)), undefined);
      }),
      { numRuns: 500 },
    );
  });

  it('is rejected when two adjacent characters are swapped, when it is truncated, or when text is added', () => {
    const { secret: text } = newApiKey();
    for (let index = 8; index < text.length - 1; index++) {
      const swapped = text.slice(0, index) + text[index + 1] + text[index] + text.slice(index + 2);
      if (swapped !== text) assert.equal(parseApiKey(swapped), undefined);
    }
    for (let length = 0; length < text.length; length++) assert.equal(parseApiKey(text.slice(0, length)), undefined);
    for (const wrong of [`${text}0`, ` ${text}`, `${text}\n`, text.toUpperCase(), text.replace('live', 'test')]) {
      assert.equal(parseApiKey(wrong), undefined);
    }
  });

  it('matches only the stored hash of the same secret', () => {
    const [one, other] = [newApiKey(), newApiKey()];

    assert.equal(secretsMatch(one.secretSha256, Buffer.from(one.secretSha256)), true);
    assert.equal(secretsMatch(one.secretSha256, other.secretSha256), false);
    assert.equal(secretsMatch(one.secretSha256, Buffer.alloc(0)), false);
  });
});

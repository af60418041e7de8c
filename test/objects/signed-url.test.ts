import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExpiredUrlError, InvalidUrlError, createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import type { UrlSignerOptions } from '../../src/objects/urls/signed-url.ts';
import { extensionFor } from '@darkroom/media/media-types';

const KEY = 'a signing key of at least 32 characters';
const OUTPUT = { outputId: 'out_01JDABCDEFGHJKMNPQRSTVWXYZ', fileName: 'tk-svc-01JDABCDEFGHJKMNPQRSTVWXYZ-1.png' };
const NOON = Date.UTC(2026, 10, 21, 12, 0, 0);

function signerAt(nowMs: number, options: Partial<UrlSignerOptions> = {}) {
  const publicUrl = 'https://api.example.com';
  return createUrlSigner({ publicUrl, signingKey: KEY, lifetimeSeconds: 1800, now: () => nowMs, ...options });
}

function tokenOf(url: string): string {
  return new URL(url).pathname.split('/')[2] ?? '';
}

describe('a download URL', () => {
  it('returns the output and its expiry when verified', () => {
    const { url, expireAt } = signerAt(NOON).sign(OUTPUT);

    assert.deepEqual(signerAt(NOON).verify(tokenOf(url)), { outputId: OUTPUT.outputId, expireAt });
  });

  it('has the form {public URL}/media/{token}/{file name}, and needs no escaping', () => {
    const { url } = signerAt(NOON).sign(OUTPUT);

    assert.match(url, /^https:\/\/api\.example\.com\/media\/[\w.-]+\/tk-svc-01JDABCDEFGHJKMNPQRSTVWXYZ-1\.png$/);
    assert.equal(new URL(url).href, url);
  });

  // Proves C3-17.
  it('is valid as long as requested, and at most five minutes longer', () => {
    for (const secondsPast of [0, 1, 150, 299, 300, 301, 0.5]) {
      const nowMs = NOON + secondsPast * 1000;
      const lifetime = signerAt(nowMs).sign(OUTPUT).expireAt - nowMs / 1000;

      assert.ok(lifetime >= 1800 && lifetime < 2100, `${lifetime} s`);
    }
  });

  // Proves C3-17.
  it('is the same for repeated reads within five minutes, and another one after', () => {
    const first = signerAt(NOON + 1_000).sign(OUTPUT);

    assert.deepEqual(signerAt(NOON + 300_000).sign(OUTPUT), first);
    assert.notEqual(signerAt(NOON + 300_001).sign(OUTPUT).url, first.url);
  });

  it('is valid until the second before its expiry, and expired after that', () => {
    const { url, expireAt } = signerAt(NOON).sign(OUTPUT);
    const token = tokenOf(url);

    assert.equal(signerAt(expireAt * 1000 - 1).verify(token).expireAt, expireAt);
    assert.throws(
      () => signerAt(expireAt * 1000).verify(token),
      (error) => error instanceof ExpiredUrlError && error.outputId === OUTPUT.outputId && error.expireAt === expireAt,
    );
  });

  it('is rejected when any character of its token is changed, removed or added', () => {
    const signer = signerAt(NOON);
    const token = tokenOf(signer.sign(OUTPUT).url);

    for (let index = 0; index < token.length; index++) {
      const other = token[index] === 'A' ? 'B' : 'A';
      const altered = [
        token.slice(0, index) + other + token.slice(index + 1),
        token.slice(0, index) + token.slice(index + 1),
        token.slice(0, index) + other + token.slice(index),
      ];
      for (const each of altered) assert.throws(() => signer.verify(each), InvalidUrlError, each);
    }
  });

  it('is rejected as invalid, not as expired, when its expiry was altered', () => {
    const signer = signerAt(NOON);
    const [version, outputId, , mac] = tokenOf(signer.sign(OUTPUT).url).split('.');

    for (const expiry of ['0', '1', 'zzzzzz', 'zzzzzzzz']) {
      assert.throws(() => signer.verify([version, outputId, expiry, mac].join('.')), InvalidUrlError);
    }
  });

  it('is rejected when it is not a token at all', () => {
    for (const token of ['', '.', 'v1', 'v1...', 'v2.a.b.c', '\0', 'v1.a.b.' + 'x'.repeat(22), 'x'.repeat(100_000)]) {
      assert.throws(() => signerAt(NOON).verify(token), InvalidUrlError);
    }
  });

  it('is rejected by another key, and accepted when that key was the previous one', () => {
    const other = 'another signing key of 32 characters';
    const token = tokenOf(signerAt(NOON).sign(OUTPUT).url);

    assert.throws(() => signerAt(NOON, { signingKey: other }).verify(token), InvalidUrlError);
    const rotated = signerAt(NOON, { signingKey: other, signingKeyFallbacks: [KEY] });
    assert.equal(rotated.verify(token).outputId, OUTPUT.outputId);
    assert.notEqual(tokenOf(rotated.sign(OUTPUT).url), token);
  });

  it('is signed with the requested key while that one is accepted, and otherwise with the current one', () => {
    const before = signerAt(NOON);
    const { keyId } = before;
    const rotated = { signingKey: 'x'.repeat(40), signingKeyFallbacks: [KEY] };
    const after = signerAt(NOON, rotated);
    const atLast = signerAt(NOON, { signingKey: rotated.signingKey });

    assert.equal(after.sign({ ...OUTPUT, keyId }).url, before.sign(OUTPUT).url);
    assert.equal(atLast.sign({ ...OUTPUT, keyId }).url, after.sign(OUTPUT).url);
    for (const unnamed of [null, undefined, after.keyId]) {
      assert.deepEqual(
        after.sign({ ...OUTPUT, ...(unnamed === undefined ? {} : { keyId: unnamed }) }),
        after.sign(OUTPUT),
      );
    }
    assert.notEqual(after.keyId, keyId);
  });

  it('is not created with a short key, or for an invalid output id', () => {
    assert.throws(() => signerAt(NOON, { signingKey: 'x'.repeat(31) }), RangeError);
    for (const outputId of ['', 'a.b', 'a/b', 'x'.repeat(65)]) {
      assert.throws(() => signerAt(NOON).sign({ ...OUTPUT, outputId }), TypeError);
    }
  });

  it('expires earlier when it must, and at another time when requested', () => {
    const signer = signerAt(0);
    assert.equal(signer.sign(OUTPUT).expireAt, 1800);
    assert.equal(signer.sign({ ...OUTPUT, notAfter: 100 }).expireAt, 100);
    assert.equal(signer.sign({ ...OUTPUT, notAfter: 99_999 }).expireAt, 1800);
    const { url, expireAt } = signer.sign({ ...OUTPUT, expireAt: 99_999 });
    assert.equal(expireAt, 99_999);
    assert.equal(signer.verify(tokenOf(url)).expireAt, 99_999);
  });
});

describe('extensionFor', () => {
  it('returns the usual extension, and bin for what is not served as media', () => {
    assert.equal(extensionFor('image/png'), 'png');
    assert.equal(extensionFor('image/jpeg'), 'jpg');
    assert.equal(extensionFor('video/mp4'), 'mp4');
    assert.equal(extensionFor('audio/mpeg'), 'mp3');
    assert.equal(extensionFor('text/html'), 'bin');
  });
});

/** Data URLs and base64 of clients: whatever RFC 2397 and RFC 4648 allow, and nothing that would be cut. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeBase64, formatDataUrl, parseDataUrl } from '../../src/domain/data-url.ts';

describe('a data URL', () => {
  it('is read in every spelling', () => {
    for (const [url, mimeType, text] of [
      ['data:image/png;base64,aGk=', 'image/png', 'hi'],
      ['DaTa:IMAGE/Png;charset=utf-8;BASE64,aGk=', 'image/png', 'hi'],
      ['data:image/jpg;base64,aGk', 'image/jpeg', 'hi'],
      ['data:image/png;base64,aGk%3D', 'image/png', 'hi'],
      ['data:image/png;base64,aG\r\nk=\n', 'image/png', 'hi'],
      ['data:;base64,aGk=', 'text/plain', 'hi'],
      ['data:,h%69', 'text/plain', 'hi'],
      [' \ndata:image/png;base64,aGk= ', 'image/png', 'hi'],
    ] as const) {
      const file = parseDataUrl(url);
      assert.deepEqual([file?.mimeType, file?.bytes.toString()], [mimeType, text], url);
    }
  });

  it('is rejected where something of it would be lost', () => {
    for (const url of [
      'data:image/png;base64',
      'data:image;base64,aGk=',
      'data:image/png;base64,aGk=aGk=',
      'data:image/png;base64,aGk!',
      'data:image/png;base64,aGkab',
      'data:image/png;base64,a-k_',
      'data:image/png;base64,aGk%3',
      'data:text/plain,\u7167',
      'https://example.com/data:image/png;base64,aGk=',
    ]) {
      assert.equal(parseDataUrl(url), undefined, url);
    }
  });

  it('has the same bytes after it was written', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const file = { mimeType: 'image/png', bytes: Buffer.from(bytes) };
        assert.deepEqual(parseDataUrl(formatDataUrl(file)), file);
        assert.deepEqual(decodeBase64(file.bytes.toString('base64').replaceAll('=', '')), file.bytes);
      }),
    );
  });
});

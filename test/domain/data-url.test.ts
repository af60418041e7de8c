/** Data URLs and base64 of clients: whatever RFC 2397 and RFC 4648 allow, and nothing that would be cut. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeBase64, formatDataUrl, isPlainDataUrl, parseDataUrl } from '../../src/domain/data-url.ts';

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
      ['data:image/png;base64,P3o_Pg', 'image/png', '?z?>'],
      ['data:image/png;name="a,b;c.png";base64,aGk=', 'image/png', 'hi'],
      ['data:,a,b', 'text/plain', 'a,b'],
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
      'data:image/png;base64,a-k_?',
      'data:image/png;base64,aGk%3',
      'data:image/png;base64,aGk%3g',
      'data:image/png;base64,aGk%',
      'data:image/png;base64,\u0141\u0141\u0141\u0141',
      'data:image/png;base64,%C5%81aG',
      'data:image/png;name=a,b.png;base64,aGk=',
      'data:image/png;name="a;base64,aGk=',
      'data:text/plain,\u7167',
      'data:text/plain,%41\u7167',
      'https://example.com/data:image/png;base64,aGk=',
    ]) {
      assert.equal(parseDataUrl(url), undefined, url);
    }
  });

  it('has the type of its bytes where it claims no type of media', () => {
    const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64');
    for (const [claimed, mimeType] of [
      ['', 'image/png'],
      ['application/octet-stream', 'image/png'],
      ['text/plain;charset=utf-8', 'image/png'],
      ['image/jpg', 'image/jpeg'],
      ['video/mp4', 'video/mp4'],
    ] as const) {
      assert.equal(parseDataUrl(`data:${claimed};base64,${png}`)?.mimeType, mimeType, claimed);
    }
    assert.equal(parseDataUrl('data:application/octet-stream;base64,aGk=')?.mimeType, 'application/octet-stream');
  });

  it('is read without a call for each of its characters', ({ mock }) => {
    const calls = [
      mock.method(String, 'fromCharCode'),
      mock.method(Number, 'parseInt'),
      mock.method(String.prototype, 'replace'),
      mock.method(String.prototype, 'replaceAll'),
    ];
    const count = 200_000;
    for (const [data, bytes] of [
      ['%41'.repeat(4 * count), Buffer.alloc(3 * count)],
      ['A\n'.repeat(4 * count), Buffer.alloc(3 * count)],
      ['____'.repeat(count), Buffer.alloc(3 * count, 255)],
    ] as const) {
      assert.ok(parseDataUrl(`data:image/png;base64,${data}`)?.bytes.equals(bytes), data.slice(0, 8));
    }
    assert.deepEqual(
      calls.map((each) => each.mock.callCount()),
      [0, 0, 0, 0],
    );
  });

  it('has the same bytes whichever of its characters are escaped', () => {
    const escaped = (code: number, isUpper: boolean): string => {
      const hex = code.toString(16).padStart(2, '0');
      return `%${isUpper ? hex.toUpperCase() : hex}`;
    };
    fc.assert(
      fc.property(fc.uint8Array(), fc.infiniteStream(fc.boolean()), (bytes, choices) => {
        const choose = (): boolean => choices.next().value === true;
        const base64 = Array.from(Buffer.from(bytes).toString('base64'), (character) =>
          choose() ? escaped(character.charCodeAt(0), choose()) : character,
        ).join('');
        assert.deepEqual(parseDataUrl(`data:image/png;base64,${base64}`)?.bytes, Buffer.from(bytes));
        const text = Array.from(bytes, (byte) => escaped(byte, choose())).join('');
        assert.deepEqual(parseDataUrl(`data:image/png,${text}`)?.bytes, Buffer.from(bytes));
      }),
    );
  });

  it('is plain exactly if it is written like that', () => {
    const base64 = fc.array(fc.constantFrom(...'Aa9+/=-_% '), { maxLength: 9 }).map((digits) => digits.join(''));
    const type = fc.constantFrom('image/png', 'image/jpg', 'audio/mp3', 'text/plain', 'IMAGE/PNG', 'video/mp4;a=b');
    fc.assert(
      fc.property(type, base64, (claimed, data) => {
        const url = `data:${claimed};base64,${data}`;
        const file = parseDataUrl(url);
        const isMedia = file !== undefined && file.mimeType !== 'text/plain' && file.bytes.length > 0;
        if (isPlainDataUrl(url)) assert.equal(isMedia && formatDataUrl(file).length === url.length, true, url);
        else assert.notEqual(isMedia && formatDataUrl(file), url);
      }),
      { numRuns: 2_000 },
    );
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

describe('base64', () => {
  it('has only characters of its alphabets: one is not taken for the lower half of another', () => {
    const higher = ['\u0141\u0141\u0141\u0141', 'AAA\u0141', 'AAAA\u{1f441}AA', '\u00c1AAA'];
    for (const text of [...higher, 'AA\u2028AA', 'AA\0A']) {
      assert.equal(decodeBase64(text), undefined, JSON.stringify(text));
    }
  });
});

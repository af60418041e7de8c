/** Which parts of a provider's output count as files. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { filesIn, filesOfBase64 } from '../../src/providers/output-files.ts';

describe('the files in an output', () => {
  it('are every URL and data URL in it, in order, however they are nested', () => {
    const files = filesIn({
      images: ['https://a.example/1.png', 'no address', null],
      mask: 'data:image/png;base64,AAEC',
      seed: 7,
    });

    assert.deepEqual(files, [
      { from: 'url', url: 'https://a.example/1.png' },
      { from: 'bytes', bytes: Buffer.from([0, 1, 2]) },
    ]);
  });

  it('are whole: base64 is read to its end, in any spelling of its alphabet, or not at all', () => {
    const bytes = Buffer.from([251, 255, 191, 0]);
    for (const base64 of ['+/+/AA==', '+/+/AA', '-_-_AA==', '+/+/\nAA==\n']) {
      assert.deepEqual(filesOfBase64(base64), [{ from: 'bytes', bytes }], base64);
    }
    for (const url of [
      'data:image/png;charset=utf-8;BASE64,%2B/%2B/AA==',
      ' data:image/png;base64,-_-_AA\n',
      'data:;name="a,b";base64,+/+/AA==',
    ]) {
      assert.deepEqual(filesIn(url), [{ from: 'bytes', bytes }], url);
    }
    for (const damaged of ['+/+/A', 'AA==AAAA', 'AA*A', 'AAAA…', 'AAAAŁŁŁŁAAAA', '<html>no image</html>']) {
      assert.deepEqual(filesOfBase64(damaged), [], damaged);
      assert.deepEqual(filesIn(`data:image/png;base64,${damaged}`), [], damaged);
    }
  });

  it('are none when the output is text, empty, too deeply nested or not an http(s) URL', () => {
    const endless: unknown[] = [];
    endless.push(endless);

    for (const output of ['a poem', '', null, {}, endless, 'file:///etc/passwd', 'data:image/png;base64,']) {
      assert.deepEqual(filesIn(output), []);
    }
  });
});

/** Which parts of a provider's output count as files. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { filesIn } from '../../src/providers/output-files.ts';

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

  it('are none when the output is text, empty, too deeply nested or not an http(s) URL', () => {
    const endless: unknown[] = [];
    endless.push(endless);

    for (const output of ['a poem', '', null, {}, endless, 'file:///etc/passwd', 'data:image/png;base64,']) {
      assert.deepEqual(filesIn(output), []);
    }
  });
});

/** JSON with files in base64: their bytes arrive whole, and are read one file and one chunk at a time. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { chunksOf, lengthOf } from '../../src/http/media-calls/outputs.ts';
import type { Base64File } from '../../src/http/media-calls/outputs.ts';

/** @param sizes of the chunks in which it is read. */
function fileOf(bytes: Buffer, sizes: readonly number[], opened: string[] = [], name = ''): Base64File {
  return {
    sizeBytes: bytes.length,
    async open() {
      opened.push(name);
      let at = 0;
      return Readable.from(sizes.map((size) => bytes.subarray(at, (at += size))));
    },
  };
}

async function textOf(parts: Parameters<typeof chunksOf>[0]): Promise<string> {
  let text = '';
  for await (const chunk of chunksOf(parts)) text += chunk;
  return text;
}

describe('a body with files in base64', () => {
  const bytes = Buffer.from(Array.from({ length: 100 }, (_, index) => (index * 37) % 256));

  for (const sizes of [
    [100],
    [1, 1, 98],
    [2, 2, 96],
    [33, 33, 34],
    [50, 0, 50],
    Array.from({ length: 100 }, () => 1),
  ]) {
    it(`has the bytes of chunks of ${sizes.slice(0, 4).join(', ')}`, async () => {
      const parts = ['{"é":"', fileOf(bytes, sizes), '"}'];
      const text = await textOf(parts);

      assert.equal(text, `{"é":"${bytes.toString('base64')}"}`);
      assert.equal(Buffer.byteLength(text), lengthOf(parts));
    });
  }

  it('has an empty file as an empty text', async () => {
    const parts = ['"', fileOf(Buffer.alloc(0), [0]), '"'];

    assert.equal(await textOf(parts), '""');
    assert.equal(lengthOf(parts), 2);
  });

  it('opens a file when the one before has been sent, and reads no further than is sent', async () => {
    const opened: string[] = [];
    const parts = [fileOf(bytes, [60, 40], opened, 'first'), fileOf(bytes, [100], opened, 'second')];
    const chunks = chunksOf(parts);

    await chunks.next();
    await chunks.next();
    assert.deepEqual(opened, ['first']);
    await chunks.next();
    await chunks.next();
    assert.deepEqual(opened, ['first', 'second']);
  });

  it('closes the file that it reads when the client has disconnected', async () => {
    let file: Readable | undefined;
    const endless: Base64File = {
      sizeBytes: 1_000_000,
      async open() {
        file = new Readable({
          read() {
            this.push(Buffer.alloc(300));
          },
        });
        return file;
      },
    };
    const body = Readable.from(chunksOf([endless]), { objectMode: false });
    body.once('data', () => body.destroy());
    await new Promise((resolve) => void body.once('close', resolve));

    assert.equal(file?.destroyed, true);
  });

  for (const sizes of [[60], [60, 60]]) {
    it(`breaks off when a file has ${sizes.length === 1 ? 'fewer' : 'more'} bytes than are recorded`, async () => {
      const file = fileOf(Buffer.alloc(200), sizes);

      await assert.rejects(textOf([{ ...file, sizeBytes: 100 }]), /instead of 100/);
    });
  }
});

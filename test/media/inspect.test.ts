import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import sharp from 'sharp';
import { createDiskStore } from '../../src/files/disk-store.ts';
import type { ByteRange, ObjectStore } from '../../src/files/object-store.ts';
import { UnsupportedMediaError, inspectBytes, inspectMedia } from '../../src/media/inspect.ts';

const FORMATS = [
  { format: 'png', extension: 'png' },
  { format: 'jpeg', extension: 'jpg' },
  { format: 'webp', extension: 'webp' },
  { format: 'gif', extension: 'gif' },
  { format: 'avif', extension: 'avif' },
] as const;

function picture(width: number, height: number) {
  return sharp({ create: { width, height, channels: 3, background: '#336699' } });
}

describe('inspecting media', () => {
  let folder: string;
  let store: ObjectStore;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'inspect-'));
    store = createDiskStore(folder);
  });
  after(() => rm(folder, { recursive: true }));

  async function inspectStored(bytes: Uint8Array) {
    await store.put('file', bytes, { mimeType: 'application/octet-stream' });
    return await inspectMedia(store, 'file', bytes.byteLength);
  }

  for (const { format, extension } of FORMATS) {
    it(`reads type and exact size of ${format} from its own bytes`, async () => {
      const facts = { mimeType: `image/${format}`, kind: 'image', extension };
      for (const [width, height] of [
        [1, 1],
        [321, 123],
        [64, 1000],
      ] as const) {
        const bytes = await picture(width, height).toFormat(format).toBuffer();

        assert.deepEqual(await inspectBytes(bytes), { ...facts, width, height });
        assert.deepEqual(await inspectStored(bytes), { ...facts, width, height });
      }
    });
  }

  it('reads the size of every kind of WebP and JPEG', async () => {
    const image = picture(300, 200);
    const transparent = image.clone().ensureAlpha(0.5);
    const kinds = [
      image.clone().webp({ lossless: true }),
      transparent.webp(),
      image.clone().withMetadata().webp(),
      image.clone().jpeg({ progressive: true }),
      image.clone().jpeg({ chromaSubsampling: '4:4:4', optimiseCoding: false }),
      image.clone().grayscale().jpeg(),
    ];
    for (const kind of kinds) {
      const { width, height } = await inspectBytes(await kind.toBuffer());
      assert.deepEqual({ width, height }, { width: 300, height: 200 });
    }
  });

  it('finds the size of a picture behind 200 kB of colour profile', async () => {
    const plain = await picture(300, 200).jpeg().toBuffer();
    const segment = Buffer.concat([Buffer.from([0xff, 0xe2, 0xff, 0xff]), randomBytes(0xffff - 2)]);
    const heavy = Buffer.concat([plain.subarray(0, 2), segment, segment, segment, plain.subarray(2)]);

    const { mimeType, width, height } = await inspectStored(heavy);

    assert.deepEqual({ mimeType, width, height }, { mimeType: 'image/jpeg', width: 300, height: 200 });
  });

  it('takes no table of a JPEG for its frame', async () => {
    const plain = await picture(300, 200).jpeg().toBuffer();
    for (const marker of [0xc4, 0xcc]) {
      const table = Buffer.from([0xff, marker, 0, 9, 8, 0, 1, 0, 1, 3, 3]);
      const { width, height } = await inspectBytes(Buffer.concat([plain.subarray(0, 2), table, plain.subarray(2)]));
      assert.deepEqual({ width, height }, { width: 300, height: 200 });
    }
  });

  it('reads only the beginning of a large picture', async () => {
    const bytes = await sharp(randomBytes(1500 * 1000 * 3), { raw: { width: 1500, height: 1000, channels: 3 } })
      .png()
      .toBuffer();
    await store.put('large', bytes, { mimeType: 'image/png' });
    const ranges: (ByteRange | undefined)[] = [];
    const watched: ObjectStore = Object.assign(Object.create(store) as ObjectStore, {
      read: (key: string, range?: ByteRange) => {
        ranges.push(range);
        return store.read(key, range);
      },
    });

    const { width } = await inspectMedia(watched, 'large', bytes.length);

    assert.equal(width, 1500);
    assert.equal(ranges.length, 1);
    assert.ok(ranges[0] && ranges[0].end < 64 * 1024);
  });

  it('knows video and audio by their beginnings', async () => {
    const box = (brand: string): Buffer =>
      Buffer.concat([Buffer.from([0, 0, 0, 16]), Buffer.from(`ftyp${brand}\0\0\0\0`)]);
    const wav = Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0', 'latin1');
    const ebml = Buffer.from('1a45dfa39f4282847765626d', 'hex');
    const samples: [bytes: Buffer, mimeType: string, kind: string, extension: string][] = [
      [box('isom'), 'video/mp4', 'video', 'mp4'],
      [box('M4V '), 'video/mp4', 'video', 'mp4'],
      [box('qt  '), 'video/quicktime', 'video', 'mov'],
      [box('M4A '), 'audio/mp4', 'audio', 'm4a'],
      [ebml, 'video/webm', 'video', 'webm'],
      [wav, 'audio/wav', 'audio', 'wav'],
      [Buffer.from('fLaC\0\0\0\x22', 'latin1'), 'audio/flac', 'audio', 'flac'],
      [Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead')]), 'audio/ogg', 'audio', 'ogg'],
      [Buffer.from('ID3\x04\0\0\0\x0f\x7f\x7fTIT2', 'latin1'), 'audio/mpeg', 'audio', 'mp3'],
      [Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(600)]), 'audio/mpeg', 'audio', 'mp3'],
    ];
    for (const [bytes, mimeType, kind, extension] of samples) {
      assert.deepEqual(await inspectBytes(Buffer.concat([bytes, Buffer.alloc(64)])), { mimeType, kind, extension });
    }
  });

  it('calls an animated PNG a PNG', async () => {
    const plain = await picture(30, 20).png().toBuffer();
    const control = Buffer.concat([Buffer.from('\0\0\0\x08acTL\0\0\0\x01\0\0\0\0', 'latin1'), Buffer.alloc(4)]);
    const animated = Buffer.concat([plain.subarray(0, 33), control, plain.subarray(33)]);

    assert.deepEqual(await inspectBytes(animated), {
      mimeType: 'image/png',
      kind: 'image',
      extension: 'png',
      width: 30,
      height: 20,
    });
  });

  const unsupported: [what: string, bytes: Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['a page', Buffer.from('<!doctype html><html><body>Not found</body></html>')],
    ['a long page', Buffer.from(`<html>${'<p>text</p>'.repeat(5000)}</html>`)],
    ['JSON', Buffer.from('{"error":"overloaded"}')],
    ['text', Buffer.from('Internal Server Error')],
    ['text in UTF-16', Buffer.from('\ufeffnot a song', 'utf16le')],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
    ['SVG with a declaration', Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['a PDF', Buffer.from('%PDF-1.7\n%âãÏÓ')],
    ['a ZIP', Buffer.from('504b0304140000000000', 'hex')],
    ['a program', Buffer.concat([Buffer.from('7f454c46020101', 'hex'), Buffer.alloc(64)])],
    ['zeros', Buffer.alloc(5000)],
    ['the name of a PNG and no more', Buffer.from('89504e470d0a1a0a', 'hex')],
    ['the first bytes of a JPEG', Buffer.from('ffd8ffe000104a464946', 'hex')],
  ];
  for (const [what, bytes] of unsupported) {
    it(`refuses ${what}`, async () => {
      await assert.rejects(inspectBytes(bytes), UnsupportedMediaError);
      await assert.rejects(inspectStored(bytes), UnsupportedMediaError);
    });
  }

  it('refuses a picture that is 0 pixels wide', async () => {
    const bytes = await picture(30, 20).png().toBuffer();
    bytes.writeUInt32BE(0, 16);

    await assert.rejects(inspectBytes(bytes), UnsupportedMediaError);
  });

  it('answers or refuses, and never fails otherwise, whatever bytes follow a known beginning', async () => {
    const beginnings = await Promise.all(
      FORMATS.map(async ({ format }) => await picture(30, 20).toFormat(format).toBuffer()),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...beginnings),
        fc.nat(400),
        fc.uint8Array({ maxLength: 300 }),
        async (beginning, length, rest) => {
          await inspectBytes(Buffer.concat([beginning.subarray(0, length), rest])).catch((error: unknown) => {
            assert.ok(error instanceof UnsupportedMediaError, String(error));
          });
        },
      ),
      { numRuns: 500 },
    );
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import sharp from 'sharp';
import { writeAudio } from '../src/encode.ts';
import { UnsupportedMediaError, createMediaInspector } from '../src/inspect.ts';
import { AT_ONCE, sourceOf } from './sources.ts';
import type { ByteRange } from './sources.ts';
import { tone, writeVideo } from './samples.ts';

const FORMATS = [
  { format: 'png', extension: 'png' },
  { format: 'jpeg', extension: 'jpg' },
  { format: 'webp', extension: 'webp' },
  { format: 'gif', extension: 'gif' },
  { format: 'avif', extension: 'avif' },
] as const;

function createImage(width: number, height: number) {
  return sharp({ create: { width, height, channels: 3, background: '#336699' } });
}

/** One for all, as in a process. */
// What a file costs is bounded by its processor time; a busy machine may take long to grant that.
const inspector = createMediaInspector({ turns: AT_ONCE, fileMs: 300_000 });
after(() => inspector.close());

describe('inspecting media', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'inspect-'));
  });
  after(() => rm(directory, { recursive: true }));

  async function inspectStored(bytes: Uint8Array) {
    return await inspector.inspect('acc_test', sourceOf(bytes));
  }

  for (const { format, extension } of FORMATS) {
    it(`reads type and exact size of ${format} from its own bytes`, async () => {
      const metadata = { mimeType: `image/${format}`, kind: 'image', extension };
      for (const [width, height] of [
        [1, 1],
        [321, 123],
        [64, 1000],
      ] as const) {
        const bytes = await createImage(width, height).toFormat(format).toBuffer();

        assert.deepEqual(await inspector.inspectBytes('acc_test', bytes), { ...metadata, width, height });
        assert.deepEqual(await inspectStored(bytes), { ...metadata, width, height });
      }
    });
  }

  it('reads the size of every kind of WebP and JPEG', async () => {
    const image = createImage(300, 200);
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
      const { width, height } = await inspector.inspectBytes('acc_test', await kind.toBuffer());
      assert.deepEqual({ width, height }, { width: 300, height: 200 });
    }
  });

  it('reads the size of an image behind a colour profile of 200 kB', async () => {
    const plain = await createImage(300, 200).jpeg().toBuffer();
    const segment = Buffer.concat([Buffer.from([0xff, 0xe2, 0xff, 0xff]), randomBytes(0xffff - 2)]);
    const heavy = Buffer.concat([plain.subarray(0, 2), segment, segment, segment, plain.subarray(2)]);

    const { mimeType, width, height } = await inspectStored(heavy);

    assert.deepEqual({ mimeType, width, height }, { mimeType: 'image/jpeg', width: 300, height: 200 });
  });

  it('does not mistake a table of a JPEG for its frame header', async () => {
    const plain = await createImage(300, 200).jpeg().toBuffer();
    for (const marker of [0xc4, 0xcc]) {
      const table = Buffer.from([0xff, marker, 0, 9, 8, 0, 1, 0, 1, 3, 3]);
      const { width, height } = await inspector.inspectBytes(
        'acc_test',
        Buffer.concat([plain.subarray(0, 2), table, plain.subarray(2)]),
      );
      assert.deepEqual({ width, height }, { width: 300, height: 200 });
    }
  });

  it('reads only the beginning of a large image', async () => {
    const bytes = await sharp(randomBytes(1500 * 1000 * 3), { raw: { width: 1500, height: 1000, channels: 3 } })
      .png()
      .toBuffer();
    const ranges: ByteRange[] = [];

    const { width } = await inspector.inspect('acc_test', sourceOf(bytes, ranges));

    assert.equal(width, 1500);
    assert.equal(ranges.length, 1);
    assert.ok(ranges[0] && ranges[0].end <= 64 * 1024);
  });

  it('detects video and audio by their first bytes', async () => {
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
      assert.deepEqual(await inspector.inspectBytes('acc_test', Buffer.concat([bytes, Buffer.alloc(64)])), {
        mimeType,
        kind,
        extension,
      });
    }
  });

  describe('of video and audio', () => {
    const SECONDS = 1.25;
    const MP3 = { mimeType: 'audio/mpeg', kind: 'audio', extension: 'mp3' };
    const tones = [tone(440, 48_000, SECONDS)];

    it('reads the duration of every audio type, without the padding of its codec', async () => {
      for (const [format, mimeType, extension] of [
        ['wav', 'audio/wav', 'wav'],
        ['flac', 'audio/flac', 'flac'],
        ['mp3', 'audio/mpeg', 'mp3'],
        ['opus', 'audio/ogg', 'ogg'],
        ['aac', 'audio/mp4', 'm4a'],
      ] as const) {
        const file = path.join(directory, `audio.${format}`);
        const audio = { path: file, format, inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
        await writeAudio({ ...audio, samples: tones });

        const metadata = await inspectStored(await readFile(file));

        assert.deepEqual(metadata, { mimeType, kind: 'audio', extension, durationSeconds: SECONDS });
      }
    });

    it('reads the duration and the displayed size of a video from its tables alone', async () => {
      const file = path.join(directory, 'video.mp4');
      await writeVideo({ path: file, width: 96, height: 64, fps: 24, frames: 30 });
      const bytes = await readFile(file);
      const metadata = { mimeType: 'video/mp4', kind: 'video', extension: 'mp4', durationSeconds: 30 / 24 };
      assert.deepEqual(await inspectStored(bytes), { ...metadata, width: 96, height: 64 });

      // A quarter turn in the display matrix, and the tables after 3 MB of frames.
      const matrix = bytes.indexOf('tkhd') + 4 + 40;
      for (const [index, value] of [0, 1, 0, -1, 0].entries()) bytes.writeInt32BE(value * 65_536, matrix + index * 4);
      const [moov, mdat] = [bytes.indexOf('moov') - 4, bytes.indexOf('mdat') - 4];
      const padding = Buffer.concat([Buffer.from([0, 0x30, 0, 0]), Buffer.from('free'), Buffer.alloc(0x30_0000 - 8)]);
      const tablesLast = Buffer.concat([bytes.subarray(0, moov), padding, bytes.subarray(moov, mdat)]);
      const ranges: ByteRange[] = [];
      const turned = await inspector.inspect('acc_test', sourceOf(tablesLast, ranges));
      assert.deepEqual(turned, { ...metadata, width: 64, height: 96 });
      const read = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
      assert.ok(ranges.length <= 6 && read < 500_000, `${ranges.length} reads of ${read} bytes`);
    });

    it('reports an MP4 with audio only as audio', async () => {
      const file = path.join(directory, 'general.m4a');
      await writeAudio({
        path: file,
        format: 'aac',
        inputRate: 48_000,
        sampleRate: 48_000,
        channels: 1,
        samples: tones,
      });
      const bytes = await readFile(file);
      bytes.write('isom', 8);

      const { mimeType, kind, extension } = await inspectStored(bytes);

      assert.deepEqual({ mimeType, kind, extension }, { mimeType: 'audio/mp4', kind: 'audio', extension: 'm4a' });
    });

    it('estimates the duration of a long MP3 without a header from its bit rate', async () => {
      // 12 MB of frames and no header that counts them.
      const frame = Buffer.alloc(417);
      frame.writeUInt32BE(0xff_fb_90_64);
      const { metadata, bytesRead } = await inspectRepeated(frame);

      assert.deepEqual({ ...metadata, durationSeconds: 0 }, { ...MP3, durationSeconds: 0 });
      assert.ok(Math.abs((metadata.durationSeconds ?? 0) / ((30_000 * 1152) / 44_100) - 1) < 0.01);
      assert.ok(bytesRead < 500_000, `${bytesRead} bytes`);
    });

    it('stops when too many reads are required, and still returns the type', async () => {
      // Bare AAC frames, each of which contains only where the next begins.
      const frame = Buffer.alloc(400);
      frame.set([0xff, 0xf1, 0x50, 0x80, 400 >> 3, 0x1f, 0xfc]);
      const { metadata, reads, bytesRead } = await inspectRepeated(frame);

      assert.deepEqual(metadata, { mimeType: 'audio/aac', kind: 'audio', extension: 'aac' });
      assert.ok(reads <= 65 && bytesRead <= 9 * 1024 * 1024, `${reads} reads of ${bytesRead} bytes`);
    });

    async function inspectRepeated(frame: Buffer) {
      const bytes = Buffer.concat(Array.from({ length: 30_000 }, () => frame));
      const ranges: ByteRange[] = [];
      const metadata = await inspector.inspect('acc_test', sourceOf(bytes, ranges));
      const bytesRead = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
      return { metadata, reads: ranges.length, bytesRead };
    }

    it('returns what it can read of broken ones, and never fails', async () => {
      const file = path.join(directory, 'broken.mp4');
      await writeVideo({ path: file, width: 64, height: 64, fps: 12, frames: 3 });
      const video = await readFile(file);
      await fc.assert(
        fc.asyncProperty(
          fc.nat(video.length),
          fc.uint8Array({ maxLength: 40 }),
          fc.nat(video.length),
          async (length, damage, at) => {
            const broken = Buffer.from(video.subarray(0, Math.max(length, 32)));
            broken.set(damage.subarray(0, Math.max(broken.length - 32 - at, 0)), Math.min(32 + at, broken.length));
            const { mimeType, durationSeconds } = await inspectStored(broken);
            assert.match(mimeType, /^(video|audio)\/mp4$/);
            assert.ok(durationSeconds === undefined || durationSeconds > 0);
          },
        ),
        { numRuns: 60 },
      );
    });
  });

  it('reports an animated PNG as PNG', async () => {
    const plain = await createImage(30, 20).png().toBuffer();
    const control = Buffer.concat([Buffer.from('\0\0\0\x08acTL\0\0\0\x01\0\0\0\0', 'latin1'), Buffer.alloc(4)]);
    const animated = Buffer.concat([plain.subarray(0, 33), control, plain.subarray(33)]);

    assert.deepEqual(await inspector.inspectBytes('acc_test', animated), {
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
    it(`rejects ${what}`, async () => {
      await assert.rejects(inspector.inspectBytes('acc_test', bytes), UnsupportedMediaError);
      await assert.rejects(inspectStored(bytes), UnsupportedMediaError);
    });
  }

  it('rejects an image that is 0 pixels wide', async () => {
    const bytes = await createImage(30, 20).png().toBuffer();
    bytes.writeUInt32BE(0, 16);

    await assert.rejects(inspector.inspectBytes('acc_test', bytes), UnsupportedMediaError);
  });

  it('returns metadata or rejects, and never fails otherwise, whatever bytes follow a known signature', async () => {
    const beginnings = await Promise.all(
      FORMATS.map(async ({ format }) => await createImage(30, 20).toFormat(format).toBuffer()),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...beginnings),
        fc.nat(400),
        fc.uint8Array({ maxLength: 300 }),
        async (beginning, length, rest) => {
          await inspector
            .inspectBytes('acc_test', Buffer.concat([beginning.subarray(0, length), rest]))
            .catch((error: unknown) => {
              assert.ok(error instanceof UnsupportedMediaError, String(error));
            });
        },
      ),
      { numRuns: 500 },
    );
  });
});

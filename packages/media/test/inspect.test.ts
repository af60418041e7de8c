import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  MkvOutputFormat,
  MovOutputFormat,
  Mp4OutputFormat,
  OggOutputFormat,
  Output,
  WebMOutputFormat,
} from 'mediabunny';
import sharp from 'sharp';
import { writeAudio } from '../src/encode.ts';
import { AT_ONCE, UnsupportedMediaError, createMediaInspector } from '../src/inspect.ts';
import { PACKAGE_DIRECTORY } from '../src/program-files.ts';
import { sourceOf } from './sources.ts';
import type { ByteRange } from './sources.ts';
import { tone, writeVideo } from './samples.ts';

const FORMATS = [
  { format: 'png', extension: 'png' },
  { format: 'jpeg', extension: 'jpg' },
  { format: 'webp', extension: 'webp' },
  { format: 'gif', extension: 'gif' },
  { format: 'avif', extension: 'avif' },
] as const;

/** A frame of MPEG layer II, of 48 kHz and 32 kbit/s. */
function mp2(): Buffer {
  const frame = Buffer.alloc(96);
  frame.writeUInt32BE(0xff_fd_14_c4);
  return frame;
}

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

  // 1 MB is case 04.
  for (const megabytes of [0.2, 1, 26]) {
    it(`reads the size of a photograph behind ${megabytes} MB of metadata`, async () => {
      const plain = await createImage(300, 200).jpeg().toBuffer();
      const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0xfd, 0xea]), randomBytes(65_000)]);
      const segments = Array.from({ length: Math.ceil(megabytes / 0.065) }, () => segment);
      const heavy = Buffer.concat([plain.subarray(0, 2), ...segments, plain.subarray(2)]);

      const { mimeType, width, height } = await inspectStored(heavy);

      assert.deepEqual({ mimeType, width, height }, { mimeType: 'image/jpeg', width: 300, height: 200 });
    });
  }

  it('reads a PNG behind 3 MB of text', async () => {
    const plain = await createImage(300, 200).png().toBuffer();
    const text = Buffer.alloc(12 + (3 << 20));
    text.writeUInt32BE(3 << 20);
    text.write('tEXt', 4);

    const { width, height } = await inspectStored(Buffer.concat([plain.subarray(0, 33), text, plain.subarray(33)]));

    assert.deepEqual([width, height], [300, 200]);
  });

  it('states the size of a photograph of a phone as it is shown', async () => {
    for (const [name, width, height] of [
      ['plain.heic', 320, 240],
      ['turned.heic', 240, 320],
    ] as const) {
      const bytes = await readFile(path.join(PACKAGE_DIRECTORY, 'test/files', name));
      const metadata = { mimeType: 'image/heic', kind: 'image', extension: 'heic', width, height };
      assert.deepEqual(await inspectStored(bytes), metadata);
    }
  });

  for (const format of ['jpeg', 'png', 'webp', 'avif'] as const) {
    it(`states the size of a turned ${format} as it is shown`, async () => {
      for (let orientation = 1; orientation <= 8; orientation += 1) {
        const bytes = await createImage(30, 20).withMetadata({ orientation }).toFormat(format).toBuffer();
        const shown = await sharp(bytes).autoOrient().toBuffer({ resolveWithObject: true });

        const { width, height } = await inspectStored(bytes);

        assert.deepEqual([width, height], [shown.info.width, shown.info.height], `${orientation}`);
      }
    });
  }

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

  it('reads the size of a JPEG behind what decoders skip between its segments', async () => {
    const plain = await createImage(300, 200).jpeg().toBuffer();
    const first = 4 + plain.readUInt16BE(4);
    for (const between of [
      Buffer.alloc(1, 0xff),
      Buffer.alloc(50_000, 0xff),
      Buffer.from([0xff, 0x01]),
      Buffer.from([0xff, 0xd0]),
      Buffer.alloc(100),
      Buffer.from([7, 0xff, 0]),
    ]) {
      const bytes = Buffer.concat([plain.subarray(0, first), between, plain.subarray(first)]);
      const { mimeType, width, height } = await inspectStored(bytes);
      assert.deepEqual({ mimeType, width, height }, { mimeType: 'image/jpeg', width: 300, height: 200 });
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
      [box('3gp4'), 'video/mp4', 'video', 'mp4'],
      [box('3g2a'), 'video/mp4', 'video', 'mp4'],
      [box('M4A '), 'audio/mp4', 'audio', 'm4a'],
      [ebml, 'video/webm', 'video', 'webm'],
      [wav, 'audio/wav', 'audio', 'wav'],
      [Buffer.from('fLaC\0\0\0\x22', 'latin1'), 'audio/flac', 'audio', 'flac'],
      [Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead')]), 'audio/ogg', 'audio', 'ogg'],
      [Buffer.from('ID3\x04\0\0\0\x0f\x7f\x7fTIT2', 'latin1'), 'audio/mpeg', 'audio', 'mp3'],
      [Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(600)]), 'audio/mpeg', 'audio', 'mp3'],
    ];
    for (const [bytes, mimeType, kind, extension] of samples) {
      const metadata = await inspector.inspectBytes('acc_test', Buffer.concat([bytes, Buffer.alloc(64)]));
      assert.deepEqual(
        { mimeType: metadata.mimeType, kind: metadata.kind, extension: metadata.extension },
        { mimeType, kind, extension },
      );
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

        assert.deepEqual(metadata, { mimeType, kind: 'audio', extension, durationSeconds: SECONDS, channels: 1 });
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

    // The files are of case 01 and 02: recordings of Chrome, Android and Safari.
    for (const [name, mimeType, extension, seconds] of [
      ['live.webm', 'audio/webm', 'webm', 3.008],
      ['mp42_audio.m4a', 'audio/mp4', 'm4a', 3],
      ['isom_audio.m4a', 'audio/mp4', 'm4a', 3],
      ['safari.mp4', 'audio/mp4', 'm4a', 3.064],
    ] as const) {
      it(`takes ${name} for audio, because its container has nothing else`, async () => {
        const bytes = await readFile(path.join(PACKAGE_DIRECTORY, 'test/files', name));

        assert.deepEqual(await inspectStored(bytes), {
          mimeType,
          kind: 'audio',
          extension,
          durationSeconds: seconds,
          channels: 1,
        });
      });
    }

    for (const format of [new MkvOutputFormat(), new WebMOutputFormat({ appendOnly: true }), new Mp4OutputFormat()]) {
      it(`takes a ${format.fileExtension} with one image for as long as its audio`, async () => {
        const target = new BufferTarget();
        const output = new Output({ format, target });
        const [video, audio] = [new EncodedVideoPacketSource('vp9'), new EncodedAudioPacketSource('opus')];
        output.addVideoTrack(video);
        output.addAudioTrack(audio);
        await output.start();
        const decoderConfig = { codec: 'vp09.00.10.08', codedWidth: 64, codedHeight: 48 };
        await video.add(new EncodedPacket(Buffer.from('frame'), 'key', 0, 0.1), { decoderConfig });
        for (let at = 0; at < 50 * 30; at += 1) {
          const sound = { decoderConfig: { codec: 'opus', sampleRate: 48_000, numberOfChannels: 1 } };
          await audio.add(new EncodedPacket(Buffer.from('sound'), 'key', at / 50, 1 / 50), sound);
        }
        await output.finalize();

        const { kind, durationSeconds = 0 } = await inspectStored(Buffer.from(target.buffer ?? assert.fail()));

        assert.equal(kind, 'video');
        assert.ok(Math.abs(durationSeconds - 30) <= 1 / 50, `${durationSeconds}`);
      });
    }

    it('takes a video for as long as its frames if its audio ends with the last of them', async () => {
      const sound = path.join(directory, 'sound.m4a');
      const audio = { path: sound, format: 'aac', inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, samples: [tone(440, 48_000, 1.4)] });
      const file = path.join(directory, 'with-sound.mp4');
      await writeVideo({ path: file, width: 64, height: 64, fps: 24, frames: 30, audio: { path: sound } });

      assert.equal((await inspectStored(await readFile(file))).durationSeconds, SECONDS);
    });

    it('takes an audio brand for a video if it has images', async () => {
      const file = path.join(directory, 'branded.mp4');
      await writeVideo({ path: file, width: 64, height: 64, fps: 12, frames: 3 });
      const bytes = await readFile(file);
      bytes.write('M4A ', 8);

      const { mimeType, kind } = await inspectStored(bytes);

      assert.deepEqual({ mimeType, kind }, { mimeType: 'video/mp4', kind: 'video' });
    });

    it('counts the frames of an MP3 without a header, of one that lies, and behind a cover of 3 MB', async () => {
      const frame = (kbitsIndex: number, bytes: number): Buffer => {
        const made = Buffer.alloc(bytes);
        made.writeUInt32BE((0xff_fb_00_c4 | (kbitsIndex << 12)) >>> 0);
        return made;
      };
      // 128 and 32 kbit/s: an estimate by the first frame would be four times too short.
      const [large, small] = [frame(9, 417), frame(1, 104)];
      const frames = [large, ...Array.from({ length: 30_000 }, () => small)];
      const seconds = Math.round(((frames.length * 1152) / 44_100) * 1000) / 1000;
      const lying = frame(9, 417);
      lying.write('Xing', 4 + 17);
      lying.writeUInt32BE(1, 4 + 17 + 4);
      lying.writeUInt32BE(10, 4 + 17 + 8);
      const cover = Buffer.alloc(10 + (3 << 20));
      cover.write('ID3\x04');
      for (const [index, shift] of [21, 14, 7, 0].entries()) cover[6 + index] = ((3 << 20) >> shift) & 0x7f;
      const trailer = Buffer.alloc(128);
      trailer.write('TAG');
      for (const bytes of [
        Buffer.concat(frames),
        Buffer.concat([lying, ...frames]),
        Buffer.concat([cover, ...frames, trailer]),
        Buffer.concat([cover, Buffer.alloc(20_000), ...frames]),
        Buffer.concat([...frames, Buffer.alloc(999)]),
      ]) {
        const metadata = await inspectStored(bytes);
        assert.deepEqual(metadata, { ...MP3, durationSeconds: seconds, channels: 1 });
      }
    });

    it('counts the frames of AAC without a container', async () => {
      const frame = Buffer.alloc(400);
      frame.set([0xff, 0xf1, 0x50, 0x80, 400 >> 3, 0x1f, 0xfc]);
      const bytes = Buffer.concat(Array.from({ length: 30_000 }, () => frame));

      const durationSeconds = Math.round(((30_000 * 1024) / 44_100) * 1000) / 1000;
      const aac = { mimeType: 'audio/aac', kind: 'audio', extension: 'aac' };
      assert.deepEqual(await inspectStored(bytes), { ...aac, durationSeconds, channels: 2 });
    });

    it('counts the frames of MP3 and AAC whatever is between them, and does not believe chance', async () => {
      const mp3 = (rateIndex: number, bytes: number): Buffer => {
        const made = Buffer.alloc(bytes);
        made.writeUInt32BE((0xff_fb_90_c4 | (rateIndex << 10)) >>> 0);
        return made;
      };
      const aac = Buffer.alloc(400);
      aac.set([0xff, 0xf1, 0x50, 0x80, 400 >> 3, 0x1f, 0xfc]);
      const zero = Buffer.alloc(1);
      const times = (count: number, ...parts: readonly Buffer[]): readonly Buffer[] =>
        Array.from({ length: count }, () => parts).flat();
      const [a, b] = [mp3(0, 417), mp3(1, 384)];
      const [ofA, ofB, ofAac] = [1152 / 44_100, 1152 / 48_000, 1024 / 44_100];
      // Headers that nothing follows.
      const chance = Buffer.concat([Buffer.alloc(500), Buffer.from('fffb90c4', 'hex'), Buffer.alloc(500)]);
      const other = Buffer.concat([Buffer.alloc(500), Buffer.from('fffb94c4', 'hex'), Buffer.alloc(500)]);
      for (const [what, parts, seconds] of [
        ['a zero after each', [...times(10, a), ...times(100, a, zero)], 110 * ofA],
        ['of another rate after the first', [...times(10, a), ...times(100, b, zero)], 10 * ofA + 100 * ofB],
        ['of two rates in turn', [...times(10, a), ...times(100, zero, a, zero, b)], 110 * ofA + 99 * ofB],
        ['much in between', [...times(10, a), ...times(10, Buffer.alloc(50_000), a)], 20 * ofA],
        ['layer II', [...times(10, a), ...times(10, mp2())], 10 * ofA + 10 * ofB],
        ['AAC', times(100, aac, zero), 99 * ofAac],
        ['AAC after a chain', [...times(10, aac), ...times(100, aac, zero)], 110 * ofAac],
        ['one of the same kind', [...times(10, a), chance], 11 * ofA],
        ['one of another kind', [...times(10, a), other], 10 * ofA],
      ] as const) {
        const { durationSeconds = 0 } = await inspectStored(Buffer.concat(parts));
        assert.ok(Math.abs(durationSeconds - seconds) < 0.001, `${what}: ${durationSeconds} and not ${seconds}`);
      }
    });

    it('takes frames behind zeros for what they are, and a few of them behind other bytes for nothing', async () => {
      const mp3 = Buffer.alloc(417);
      mp3.writeUInt32BE(0xff_fb_90_c4);
      const aac = Buffer.alloc(400);
      aac.set([0xff, 0xf1, 0x50, 0x80, 400 >> 3, 0x1f, 0xfc]);
      const tag = Buffer.from('ID3\x04\0\0\0\0\0\x0aTIT2......', 'latin1');
      for (const [mimeType, frame, samples] of [
        ['audio/mpeg', mp3, 1152],
        ['audio/aac', aac, 1024],
      ] as const) {
        const frames = Array.from({ length: 100 }, () => frame);
        for (const before of [
          Buffer.alloc(10),
          Buffer.alloc(100_000),
          Buffer.concat([tag, Buffer.alloc(10)]),
          Buffer.concat([tag, Buffer.from('some more')]),
        ]) {
          const metadata = await inspectStored(Buffer.concat([before, ...frames]));
          assert.equal(metadata.mimeType, mimeType);
          assert.equal(metadata.durationSeconds, Math.round((100 * samples) / 44.1) / 1000);
        }
        const chance = Buffer.concat([Buffer.alloc(10), frame, frame, Buffer.alloc(500)]);
        await assert.rejects(inspectStored(chance), UnsupportedMediaError);
        await assert.rejects(inspectStored(Buffer.concat([Buffer.from('text'), ...frames])), UnsupportedMediaError);
      }
    });

    it('takes only the first frame of an MP3 for a tag', async () => {
      const frame = Buffer.alloc(417);
      frame.writeUInt32BE(0xff_fb_90_c4);
      frame.write('Info', 4 + 17);
      const bytes = Buffer.concat(Array.from({ length: 101 }, () => frame));

      assert.equal((await inspectStored(bytes)).durationSeconds, Math.round((100 * 1152) / 44.1) / 1000);
    });

    it('measures a WAV whose sizes are missing, too large or of an earlier moment', async () => {
      const file = path.join(directory, 'sizes.wav');
      const audio = { path: file, format: 'wav', inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, samples: tones });
      const plain = await readFile(file);
      const at = plain.indexOf('data') + 4;
      for (const [riffBytes, dataBytes] of [
        [0, 0],
        [0xff_ff_ff_ff, 0xff_ff_ff_ff],
        [plain.length - 8, 1_000],
        [plain.length - 8, plain.length],
      ] as const) {
        const bytes = Buffer.from(plain);
        bytes.writeUInt32LE(riffBytes, 4);
        bytes.writeUInt32LE(dataBytes, at);
        assert.equal((await inspectStored(bytes)).durationSeconds, SECONDS, `${dataBytes}`);
      }
      const tagged = Buffer.concat([plain, Buffer.from('LIST\x08\0\0\0INFOsome', 'latin1')]);
      assert.equal((await inspectStored(tagged)).durationSeconds, SECONDS);
    });

    it('measures the samples of a WAV whose sizes agree, wherever they are, and not what follows them', async () => {
      const file = path.join(directory, 'followed.wav');
      const audio = { path: file, format: 'wav', inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, samples: tones });
      const plain = await readFile(file);
      const samples = plain.subarray(plain.indexOf('data'));
      for (const [rest, times] of [
        [Buffer.alloc(2_000_000), 1],
        [Buffer.alloc(2_000_000, 'x'), 1],
        [samples, 2],
        [Buffer.concat([Buffer.alloc(160_000), samples]), 2],
      ] as const) {
        const bytes = Buffer.concat([plain, rest]);
        assert.equal((await inspectStored(bytes)).durationSeconds, times * SECONDS);
      }
    });

    it('measures compressed samples of a WAV by the size of their blocks, whatever the header says they have', async () => {
      const wave = (format: readonly number[], bytes: number): Buffer => {
        const [tag = 0, channels = 0, blockBytes = 0, bits = 0] = format;
        const made = Buffer.alloc(48 + bytes);
        made.write('RIFF');
        made.writeUInt32LE(40 + bytes, 4);
        made.write('WAVEfmt ', 8);
        made.set([20, 0, 0, 0, tag, 0, channels], 16);
        made.writeUInt32LE(8_000, 24);
        made.writeUInt16LE(blockBytes, 32);
        made.writeUInt16LE(bits, 34);
        // One sample in a block.
        made.set([2, 0, 1, 0], 36);
        made.write('data', 40);
        made.writeUInt32LE(bytes, 44);
        return made;
      };
      for (const [format, bytes, samples] of [
        [[0x11, 1, 256, 4], 25_600, 100 * 505],
        [[0x11, 2, 512, 4], 51_200, 100 * 505],
        [[0x02, 1, 256, 4], 25_600, 100 * 500],
        [[0x02, 2, 512, 4], 51_200, 100 * 500],
        // Less than a block.
        [[0x11, 1, 65_535, 4], 40_004, 80_001],
      ] as const) {
        const { durationSeconds } = await inspectStored(wave(format, bytes));
        assert.equal(durationSeconds, Math.round(samples / 8) / 1000, format.join());
      }
    });

    it('measures a WAV of more than 4 GB by its wide sizes, and MP3 in a WAV by its frames', async () => {
      const file = path.join(directory, 'wide.wav');
      const audio = { path: file, inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, format: 'wav', samples: tones });
      const plain = await readFile(file);
      const [format, data] = [plain.indexOf('fmt '), plain.indexOf('data')];
      const samples = plain.subarray(data + 8);
      const trailer = Buffer.from('LIST\x08\0\0\0INFOsome', 'latin1');
      const wide = Buffer.concat([
        Buffer.from('RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0', 'latin1'),
        Buffer.alloc(28),
        plain.subarray(format, format + 24),
        Buffer.from('data\xff\xff\xff\xff', 'latin1'),
        samples,
        trailer,
      ]);
      const wav = { mimeType: 'audio/wav', kind: 'audio', extension: 'wav', durationSeconds: SECONDS, channels: 1 };
      wide.writeBigUInt64LE(BigInt(wide.length - 8), 20);
      wide.writeBigUInt64LE(BigInt(samples.length), 28);
      assert.deepEqual(await inspectStored(wide), wav);
      // Sizes of 0: all that follows counts.
      wide.fill(0, 20, 36);
      const all = Math.round((samples.length + trailer.length) / 96) / 1000;
      assert.equal((await inspectStored(wide)).durationSeconds, all);

      await writeAudio({ ...audio, format: 'mp3', samples: tones });
      const frames = await readFile(file);
      const inside = Buffer.concat([plain.subarray(0, data), Buffer.from('data\0\0\0\0', 'latin1'), frames]);
      inside.writeUInt16LE(0x55, format + 8);
      inside.writeUInt32LE(inside.length - 8, 4);
      inside.writeUInt32LE(frames.length, data + 4);
      const { mimeType, durationSeconds = 0 } = await inspectStored(inside);
      assert.equal(mimeType, 'audio/wav');
      assert.ok(Math.abs(durationSeconds - SECONDS) < 0.06, `${durationSeconds}`);
    });

    it('measures a WAV by the first of its formats', async () => {
      const file = path.join(directory, 'formats.wav');
      const audio = { path: file, format: 'wav', inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, samples: tones });
      const plain = await readFile(file);
      const [format, data] = [plain.indexOf('fmt '), plain.indexOf('data')];
      const another = Buffer.from(plain.subarray(format, format + 24));
      another.writeUInt32LE(48_000_000, 12);
      const bytes = Buffer.concat([plain.subarray(0, data), another, plain.subarray(data)]);
      bytes.writeUInt32LE(bytes.length - 8, 4);

      assert.equal((await inspectStored(bytes)).durationSeconds, SECONDS);
    });

    it('measures recordings in Ogg that follow one another', async () => {
      const file = path.join(directory, 'chained.ogg');
      const audio = { path: file, format: 'opus', inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, samples: tones });
      const one = await readFile(file);

      assert.equal((await inspectStored(Buffer.concat([one, one, one]))).durationSeconds, 3 * SECONDS);
      for (const between of [Buffer.alloc(1), Buffer.alloc(40_000), randomBytes(100)]) {
        assert.equal((await inspectStored(Buffer.concat([one, between, one]))).durationSeconds, 2 * SECONDS);
      }
    });

    it('measures the packets of a container, whatever its times say', async () => {
      const [packets, short] = [150, 0.0001];
      const data = Buffer.alloc(120, 0xfc);
      const head = Buffer.from('OpusHead\x01\x02\0\0\x80\xbb\0\0\0\0\0', 'latin1');
      const aac = { codec: 'mp4a.40.2', description: Buffer.from('1190', 'hex') };
      const heAac = { codec: 'mp4a.40.5', description: Buffer.from('2b118800', 'hex') };
      for (const [name, format, codec, config, seconds] of [
        ['AAC in MP4', new Mp4OutputFormat(), 'aac', aac, 1024 / 48_000],
        ['HE-AAC in MP4', new Mp4OutputFormat(), 'aac', heAac, 1024 / 24_000],
        ['AAC in Matroska', new MkvOutputFormat(), 'aac', aac, 1024 / 48_000],
        ['Opus in MP4', new Mp4OutputFormat(), 'opus', { codec: 'opus', description: head }, 0.02],
        ['Opus in WebM', new WebMOutputFormat(), 'opus', { codec: 'opus' }, 0.02],
        ['Opus in Ogg', new OggOutputFormat(), 'opus', { codec: 'opus', description: head }, 0.02],
        ['PCM in QuickTime', new MovOutputFormat(), 'pcm-s16', { codec: 'pcm-s16' }, 30 / 48_000],
      ] as const) {
        const output = new Output({ format, target: new BufferTarget() });
        const source = new EncodedAudioPacketSource(codec);
        output.addAudioTrack(source);
        await output.start();
        const decoderConfig = { ...config, numberOfChannels: 2, sampleRate: 48_000 };
        const step = name === 'Opus in Ogg' ? 0.02 : short;
        for (let index = 0; index < packets; index += 1) {
          await source.add(new EncodedPacket(data, 'key', index * step, step), { decoderConfig });
        }
        await output.finalize();
        const file = Buffer.from(output.target.buffer ?? assert.fail());
        // The position of a page of Ogg; its first two have none.
        for (let at = file.indexOf('OggS', 100); at >= 0; at = file.indexOf('OggS', at + 4)) {
          file.writeBigInt64LE(BigInt(at), at + 6);
        }

        const { durationSeconds = 0 } = await inspectStored(file);
        assert.ok(Math.abs(durationSeconds - packets * seconds) < 0.021, `${name}: ${durationSeconds}`);
      }
    });

    it('measures a FLAC whose header has no length, or a wrong one', async () => {
      const file = path.join(directory, 'lengths.flac');
      const audio = { path: file, format: 'flac', inputRate: 48_000, sampleRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, samples: tones });
      const bytes = await readFile(file);
      for (const samples of [0, 1_000, 48_000_000]) {
        bytes.writeUInt32BE(samples, 22);
        assert.equal((await inspectStored(bytes)).durationSeconds, SECONDS, `${samples}`);
      }
    });

    it('measures all of a FLAC, whatever its frames are numbered and whatever is between or behind them', async () => {
      const file = path.join(directory, 'parts.flac');
      const audio = { path: file, format: 'flac', inputRate: 48_000, channels: 1 } as const;
      await writeAudio({ ...audio, sampleRate: 48_000, samples: tones });
      const one = await readFile(file);
      await writeAudio({ ...audio, sampleRate: 44_100, samples: tones });
      const another = await readFile(file);
      const zeros = Buffer.alloc(2_000_000);
      // The header of a frame of 192 samples that has a number of its own.
      const lying = Buffer.from('fff819000012', 'hex');
      for (const [parts, seconds] of [
        [[one, one], 2 * SECONDS],
        [[one, another], 2 * SECONDS],
        [[one, zeros, one], 2 * SECONDS],
        [[one, zeros], SECONDS],
        [[one, zeros, lying], SECONDS + 192 / 44_100],
      ] as const) {
        const { durationSeconds } = await inspectStored(Buffer.concat(parts));
        assert.equal(durationSeconds, Math.round(seconds * 1000) / 1000);
      }
    });

    it('returns what it can read of broken ones, or names the bound that they exceed', async () => {
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
            try {
              const { mimeType, durationSeconds } = await inspectStored(broken);
              assert.match(mimeType, /^(video|audio)\/mp4$/);
              assert.ok(durationSeconds === undefined || durationSeconds > 0);
            } catch (error) {
              // A damaged table may state millions of frames.
              assert.ok(error instanceof UnsupportedMediaError, String(error));
              assert.match(error.problem ?? '', /^takes (more|longer) than/);
            }
          },
        ),
        // Of these, the first states 16 million frames.
        { numRuns: 60, examples: [[863, Uint8Array.of(1), 638]] },
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

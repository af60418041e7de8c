/** Promises about malicious or broken files: each is rejected with a plain message, and nothing else happens. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import type { FaultKind } from '@darkroom/api/facts/input-fault';
import { decodeImage, decodeAudio, openClip } from '../src/decode.ts';
import { deriveFrames } from '../src/frames.ts';
import { UndecodableMediaError } from '../src/undecodable-media-error.ts';
import { CAN_SEE_PROCESSES, mediaChildren } from '@darkroom/testing/media-processes';
import { collected, writeVideo } from './samples.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'hostile-'));
});
after(() => rm(directory, { recursive: true }));

async function stored(name: string, bytes: Buffer | string): Promise<string> {
  const file = path.join(directory, name);
  await writeFile(file, bytes);
  return file;
}

function asImage(file: string): Promise<unknown> {
  return decodeImage(file, { maxEdge: 512 });
}
function asAudio(file: string): Promise<unknown> {
  return decodeAudio(file, { sampleRate: 48_000, maxSeconds: 10 });
}
async function asVideo(file: string): Promise<unknown> {
  const clip = await openClip(file, { width: 64, height: 64, fps: 24, maxFrames: 10 });
  return collected(clip.frames);
}

async function assertRejected(
  decoding: Promise<unknown>,
  what: string,
  words = /./,
  kind: FaultKind = 'undecodable',
): Promise<void> {
  await assert.rejects(
    decoding,
    (error) => {
      assert.ok(error instanceof UndecodableMediaError, `${what}: ${String(error)}`);
      assert.match(error.message, words, what);
      assert.deepEqual(error.fault, { kind }, what);
      assert.ok(!error.message.includes(directory), 'the message names no path');
      return true;
    },
    what,
  );
}

/** A PNG that declares its size and contains next to nothing. */
function pngHeader(width: number, height: number): Buffer {
  const chunk = (name: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const header = Buffer.from('00000000000000000802000000', 'hex');
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const image = chunk('IDAT', deflateSync(Buffer.alloc(100)));
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    image,
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

describe('a file with a false type', () => {
  it('is rejected as an image, audio and video', async () => {
    // The same bytes each time: a generator that starts with 1.
    let state = 1;
    const noise = Buffer.from(Array.from({ length: 5000 }, () => (state = (state * 48_271) % 2_147_483_647) & 0xff));
    const files = [await stored('noise.mp4', noise), await stored('nothing.png', '')];
    for (const file of files) {
      await assertRejected(asImage(file), file, /not an image/);
      await assertRejected(asAudio(file), file, /not an audio/);
      await assertRejected(asVideo(file), file, /not a video/);
    }
  });

  it('is rejected when it is an image format that can contain programs or references', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>';
    await assertRejected(asImage(await stored('image.png', svg)), 'SVG', /not an image/);
    await assertRejected(asImage(await stored('page.png', '%PDF-1.4\n1 0 obj')), 'PDF', /not an image/);
    const tiff = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .tiff()
      .toBuffer();
    await assertRejected(asImage(await stored('image.jpg', tiff)), 'TIFF', /not an image/);
  });
});

describe('a playlist', () => {
  it('is rejected under any name, and nothing that it refers to is fetched or opened', async () => {
    const requested: string[] = [];
    const server = createServer((request, response) => {
      requested.push(request.url ?? '');
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const video = path.join(directory, 'real.mp4');
    await writeVideo({ path: video, width: 64, height: 64, fps: 12, frames: 2 });
    try {
      for (const [kind, address] of [
        ['hls', `http://127.0.0.1:${port}/a.ts`],
        ['hls', `file://${video}`],
        ['concat', `http://127.0.0.1:${port}/b.mp4`],
        ['concat', 'real.mp4'],
      ] as const) {
        const text = {
          hls: `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n${address}\n#EXT-X-ENDLIST\n`,
          concat: `ffconcat version 1.0\nfile '${address}'\n`,
        }[kind];
        await assertRejected(asVideo(await stored('list.mp4', text)), `${kind} ${address}`, /not a video/);
      }
      const others = {
        'list.m3u8': `#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n${video}\n#EXT-X-ENDLIST\n`,
        'list.sdp': `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video ${port} RTP/AVP 96\na=rtpmap:96 H264/90000\n`,
        'list.mpd': `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet><Representation><BaseURL>http://127.0.0.1:${port}/d.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>`,
      };
      for (const [name, text] of Object.entries(others)) await assertRejected(asVideo(await stored(name, text)), name);
      assert.deepEqual(requested, []);
    } finally {
      server.close();
    }
  });
});

describe('a file beyond bounds', () => {
  it('is rejected by its header, before memory is allocated for its pixels', async () => {
    await assertRejected(
      asImage(await stored('huge.png', pngHeader(60_000, 60_000))),
      'huge',
      /100 megapixels/,
      'too_many_pixels',
    );
    await assertRejected(
      asImage(await stored('long.png', pngHeader(2_000_000, 60))),
      'long',
      /100 megapixels/,
      'too_many_pixels',
    );

    const video = path.join(directory, 'video.mp4');
    await writeVideo({ path: video, width: 64, height: 64, fps: 12, frames: 2 });
    const bytes = await readFile(video);
    // The sample entry's own width and height.
    const entry = bytes.indexOf('avc1', bytes.indexOf('stsd')) + 4 + 24;
    bytes.writeUInt16BE(30_000, entry);
    bytes.writeUInt16BE(30_000, entry + 2);
    await assertRejected(asVideo(await stored('absurd.mp4', bytes)), 'absurd', /4096 x 4096/, 'too_many_pixels');
    await assertRejected(deriveFrames(path.join(directory, 'absurd.mp4')), 'absurd', /4096 x 4096/, 'too_many_pixels');
  });

  it('is rejected when it lasts for hours', async () => {
    const header = Buffer.alloc(44);
    header.write('RIFF', 0);
    header.writeUInt32LE(0x7fff_ffff, 4);
    header.write('WAVEfmt ', 8);
    header.writeUInt32LE(16, 16);
    for (const [value, at] of [
      [1, 20],
      [1, 22],
      [1, 32],
      [8, 34],
    ] as const) {
      header.writeUInt16LE(value, at);
    }
    for (const at of [24, 28]) header.writeUInt32LE(8000, at);
    header.write('data', 36);
    header.writeUInt32LE(8000 * 601, 40);
    const file = await stored('hours.wav', Buffer.concat([header, Buffer.alloc(8000 * 601, 128)]));
    await assertRejected(asAudio(file), 'hours', /longer than 600 s/, 'too_long');
  });
});

describe('a file that ends too early', () => {
  it('is rejected as an image, and as a video without its index or its frames', async () => {
    const noise = Buffer.from(Array.from({ length: 300 * 200 * 3 }, (_, index) => (index * 7919) & 0xff));
    const jpeg = await sharp(noise, { raw: { width: 300, height: 200, channels: 3 } })
      .jpeg()
      .toBuffer();
    await assertRejected(asImage(await stored('cut.jpg', jpeg.subarray(0, jpeg.length / 2))), 'JPEG', /damaged/);

    const video = path.join(directory, 'whole.mp4');
    await writeVideo({ path: video, width: 64, height: 64, fps: 12, frames: 12 });
    const bytes = await readFile(video);
    await assertRejected(asVideo(await stored('half.mp4', bytes.subarray(0, bytes.indexOf('mdat') / 2))), 'no index');
    const framesGone = bytes.subarray(0, bytes.indexOf('mdat') + 8);
    await assertRejected(asVideo(await stored('frames.mp4', framesGone)), 'no frames', /damaged|contains no video/);
  });

  it('leaves no child process behind', { skip: !CAN_SEE_PROCESSES }, () => {
    assert.deepEqual(mediaChildren(), []);
  });
});

/** Promises of encoding: the file matches the input, to the frame and the sample, and every reader can read it. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ALL_FORMATS, BufferSource, Input } from 'mediabunny';
import { decodeAudio, openClip } from '../src/decode.ts';
import { openVideo, writeAudio } from '../src/encode.ts';
import { colourAt, distance, frameColour, levelOf, pitchOf, plain, tone, writeVideo } from './samples.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'encode-'));
});
after(() => rm(directory, { recursive: true }));

/** The file as seen by a reader that shares nothing with our encoder. */
async function read(file: string): Promise<Input> {
  return new Input({ formats: ALL_FORMATS, source: new BufferSource(await readFile(file)) });
}

const AUDIO_FORMATS = [
  { format: 'wav', sampleRate: 22_050, mimeType: 'audio/wav', codec: 'pcm-s16' },
  { format: 'flac', sampleRate: 44_100, mimeType: 'audio/flac', codec: 'flac' },
  { format: 'mp3', sampleRate: 24_000, mimeType: 'audio/mpeg', codec: 'mp3' },
  { format: 'opus', sampleRate: 48_000, mimeType: 'audio/ogg', codec: 'opus' },
  { format: 'aac', sampleRate: 32_000, mimeType: 'audio/mp4', codec: 'aac' },
] as const;

describe('writing audio', () => {
  for (const { format, sampleRate, mimeType, codec } of AUDIO_FORMATS) {
    it(`writes ${format} at the requested rate with the tones of the input, to the sample`, async () => {
      const file = path.join(directory, `tones.${format}`);
      const samples = [tone(440, 48_000, 1.23), tone(660, 48_000, 1.23)];
      await writeAudio({ path: file, format, inputRate: 48_000, sampleRate, channels: 2, samples });

      const input = await read(file);
      assert.match(await input.getMimeType(), new RegExp(`^${mimeType}`));
      const track = await input.getPrimaryAudioTrack();
      assert.ok(track);
      assert.deepEqual(
        [await track.getCodec(), await track.getSampleRate(), await track.getNumberOfChannels()],
        [codec, sampleRate, 2],
      );
      const { channels } = await decodeAudio(file, { sampleRate, maxSeconds: 10 });
      assert.equal(channels[0].length, Math.round(1.23 * sampleRate));
      for (const [channel, hertz] of [440, 660].entries()) {
        const heard = channels[channel] ?? new Float32Array();
        assert.ok(Math.abs(pitchOf(heard, sampleRate) - hertz) < 1, `${pitchOf(heard, sampleRate)} Hz`);
        assert.ok(Math.abs(levelOf(heard) - 0.5 / Math.SQRT2) < 0.02, `level ${levelOf(heard)}`);
      }
    });
  }

  it('keeps frequencies below half the new rate, without aliasing from above it', async () => {
    const file = path.join(directory, 'low.wav');
    const audio = { path: file, format: 'wav', inputRate: 48_000, sampleRate: 8000, channels: 1 } as const;

    await writeAudio({ ...audio, samples: [tone(3000, 48_000, 0.5)] });
    const kept = await decodeAudio(file, { sampleRate: 8000, maxSeconds: 1 });
    assert.ok(Math.abs(levelOf(kept.channels[0]) - 0.5 / Math.SQRT2) < 0.01);

    await writeAudio({ ...audio, samples: [tone(5000, 48_000, 0.5)] });
    const gone = await decodeAudio(file, { sampleRate: 8000, maxSeconds: 1 });
    assert.ok(levelOf(gone.channels[0]) < 0.001, `level ${levelOf(gone.channels[0])}`);
  });

  it('writes the same bytes for the same samples, in one piece or in many', async () => {
    const [whole, pieces] = [path.join(directory, 'whole.mp3'), path.join(directory, 'pieces.mp3')];
    const samples = tone(500, 24_000, 1);
    async function* inPieces(): AsyncGenerator<readonly Float32Array[]> {
      for (let at = 0; at < samples.length; at += 777) yield [samples.subarray(at, at + 777)];
    }
    const audio = { format: 'mp3', inputRate: 24_000, sampleRate: 44_100, channels: 1 } as const;
    await writeAudio({ ...audio, path: whole, samples: [samples] });
    await writeAudio({ ...audio, path: pieces, samples: inPieces() });

    assert.deepEqual(await readFile(pieces), await readFile(whole));
  });

  it('respects the bit rate', async () => {
    const size = async (bitrateKbps: number): Promise<number> => {
      const file = path.join(directory, 'rate.mp3');
      const samples = [tone(440, 44_100, 2)];
      await writeAudio({
        path: file,
        format: 'mp3',
        inputRate: 44_100,
        sampleRate: 44_100,
        channels: 1,
        samples,
        bitrateKbps,
      });
      return (await stat(file)).size;
    };
    assert.ok(Math.abs((await size(128)) / (2 * 16_000) - 1) < 0.1);
    assert.ok(Math.abs((await size(48)) / (2 * 6000) - 1) < 0.1);
  });

  it('rejects rates that a format does not support, and channels of different lengths', async () => {
    const audio = {
      path: path.join(directory, 'never'),
      inputRate: 48_000,
      channels: 1,
      samples: [tone(1, 8000, 1)],
    } as const;

    await assert.rejects(writeAudio({ ...audio, format: 'mp3', sampleRate: 96_000 }), RangeError);
    await assert.rejects(writeAudio({ ...audio, format: 'opus', sampleRate: 44_100 }), RangeError);
    await assert.rejects(writeAudio({ ...audio, format: 'wav', sampleRate: 7999 }), RangeError);
    const uneven = [new Float32Array(10), new Float32Array(9)];
    await assert.rejects(
      writeAudio({ ...audio, format: 'wav', sampleRate: 8000, channels: 2, samples: uneven }),
      RangeError,
    );
    assert.ok(!(await readdir(directory)).includes('never'));
  });
});

describe('writing a video', () => {
  it('writes every frame once, at its time and in its colour, as H.264 High that a player can start at once', async () => {
    const file = path.join(directory, 'video.mp4');
    await writeVideo({ path: file, width: 96, height: 64, fps: 24, frames: 25 });

    const input = await read(file);
    const track = await input.getPrimaryVideoTrack();
    assert.ok(track);
    assert.deepEqual([await track.getDisplayWidth(), await track.getDisplayHeight()], [96, 64]);
    assert.match((await track.getDecoderConfig())?.codec ?? '', /^avc1\.6400/);
    assert.equal((await track.computePacketStats()).packetCount, 25);
    assert.equal(await input.computeDuration(), 25 / 24);
    assert.deepEqual(await track.getColorSpace(), {
      primaries: 'bt709',
      transfer: 'bt709',
      matrix: 'bt709',
      fullRange: false,
    });
    const bytes = await readFile(file);
    assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'), 'the index comes first');

    const clip = await openClip(file, { width: 96, height: 64, fps: 24, maxFrames: 100 });
    let index = 0;
    for await (const frame of clip.frames) {
      const colour = colourAt(frame, 96, 48, 32);
      assert.ok(distance(colour, frameColour(index)) <= 4, `frame ${index}: ${colour.join()}`);
      index += 1;
    }
    assert.equal(index, 25);
  });

  it('adds the audio: cut when it is longer than the video, padded with silence when it is shorter', async () => {
    const [long, short] = [path.join(directory, 'long.wav'), path.join(directory, 'short.wav')];
    for (const [file, seconds] of [
      [long, 3],
      [short, 0.5],
    ] as const) {
      const samples = [tone(440, 48_000, seconds), tone(660, 48_000, seconds)];
      await writeAudio({ path: file, format: 'wav', inputRate: 48_000, sampleRate: 48_000, channels: 2, samples });
    }
    for (const audio of [long, short]) {
      const file = path.join(directory, 'with-audio.mp4');
      await writeVideo({ path: file, width: 64, height: 64, fps: 10, frames: 11, audio: { path: audio } });

      const track = await (await read(file)).getPrimaryAudioTrack();
      assert.deepEqual([await track?.getCodec(), await track?.getSampleRate()], ['aac', 48_000]);
      const { channels, seconds } = await decodeAudio(file, { sampleRate: 48_000, maxSeconds: 10 });
      assert.ok(Math.abs(seconds - 1.1) < 0.001, `${seconds} s`);
      assert.ok(Math.abs(pitchOf(channels[0].subarray(0, 22_000), 48_000) - 440) < 1);
      assert.ok(Math.abs(pitchOf(channels[1].subarray(0, 22_000), 48_000) - 660) < 1);
      const end = levelOf(channels[0].subarray(30_000));
      assert.ok(audio === long ? end > 0.3 : end < 0.01, `level ${end}`);
    }
  });

  it('writes the same bytes for the same frames', async () => {
    const files = ['one.mp4', 'two.mp4'].map((name) => path.join(directory, name));
    for (const file of files) await writeVideo({ path: file, width: 64, height: 48, fps: 12, frames: 6 });
    const [one, two] = await Promise.all(files.map((file) => readFile(file)));

    assert.deepEqual(one, two);
  });

  it('rejects odd sizes, invalid frame rates, and frames of another size', async () => {
    const video = { path: path.join(directory, 'no.mp4'), width: 64, height: 64, fps: 24, quality: 'draft' } as const;

    await assert.rejects(openVideo({ ...video, width: 63 }), RangeError);
    await assert.rejects(openVideo({ ...video, height: 5000 }), RangeError);
    await assert.rejects(openVideo({ ...video, fps: 23.976 }), RangeError);
    const writer = await openVideo(video);
    await assert.rejects(writer.write(Buffer.alloc(64 * 64 * 3)), RangeError);
    await writer.abort();
  });

  it('removes an aborted video', async () => {
    const file = path.join(directory, 'aborted.mp4');
    const writer = await openVideo({ path: file, width: 64, height: 64, fps: 24, quality: 'standard' });
    for (let index = 0; index < 3; index += 1) await writer.write(plain(64, 64, frameColour(index)));
    await writer.abort();

    await assert.rejects(stat(file), { code: 'ENOENT' });
  });

  it('fails without hanging when the file cannot be written', async () => {
    const file = path.join(directory, 'no-such-directory', 'video.mp4');
    const writer = await openVideo({ path: file, width: 640, height: 640, fps: 24, quality: 'standard' });
    await assert.rejects(async () => {
      for (let index = 0; index < 10; index += 1) await writer.write(plain(640, 640, frameColour(index)));
      await writer.finish();
    }, /media child failed/);
    await writer.abort();
  });
});

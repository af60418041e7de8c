/**
 * Promises of videos that begin with the caller's files: animated images, clips that are cut together or continued.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { UndecodableMediaError } from '../../src/engine.ts';
import { planVideo } from '../../src/video/video.ts';
import { createLook } from '../../src/video/look.ts';
import { hex } from '../../src/image/colour.ts';
import { lastFrameOf } from '@darkroom/media/decode';
import { clip, difference, directory, meanColour, mediaOf, quarters, sample } from './video-samples.ts';

const RED = [230, 30, 30] as const;
const BLUE = [30, 40, 230] as const;

describe('videos that begin with an image', () => {
  it('begin with exactly that image, and then move', async () => {
    const image_url = await quarters('image.png', 640, 480);
    for (const prompt of ['pan right', 'push in, rain, night falls']) {
      const [first, ...rest] = await sample({ prompt, image_url: 'x', duration: 4 }, { media: { image_url } });
      const given = await sharp(image_url)
        .resize(first?.width, first?.height, { fit: 'cover' })
        .ensureAlpha()
        .raw()
        .toBuffer();

      assert.ok(difference(first, first && { ...first, rgba: given }) < 0.5, prompt);
      assert.ok(difference(first, rest[1]) > 0.5, prompt);
    }
  });

  it('keep the shape of the image', async () => {
    const image_url = await quarters('tall.png', 400, 600);
    const plan = await planVideo({
      input: { image_url: 'x', resolution: '480p' },
      seed: 1,
      media: mediaOf({ image_url }),
    });

    assert.deepEqual(plan.video.size, { width: 480, height: 720 });
  });

  it('move further with prompt_optimizer', async () => {
    const image_url = await quarters('plain.png', 640, 480);
    const [plain, optimized] = await Promise.all(
      [false, true].map((prompt_optimizer) =>
        sample({ image_url: 'x', duration: 4, prompt_optimizer }, { media: { image_url } }),
      ),
    );

    assert.ok(difference(optimized?.[0], optimized?.[3]) > difference(plain?.[0], plain?.[3]));
  });

  it('use the first of image_urls, and do not require one', async () => {
    const image = await quarters('first.png', 640, 480);
    const [given] = await sample(
      { prompt: 'a lake', duration: '6', image_urls: ['x'] },
      { media: { 'image_urls.0': image } },
    );
    const [made] = await sample({ prompt: 'a lake', duration: '6', aspect_ratio: '4:3' });

    assert.ok(difference(given, made) > 10);
  });
});

describe('videos that continue a clip', () => {
  it('begin with its last frame and end in the scene of the prompt', async () => {
    const start_video = await clip('start.mp4', RED, 1);
    const last = await lastFrameOf(start_video, { maxEdge: 4096 });
    const frames = await sample(
      { prompt: 'a snowy field, noon', start_video: 'x', duration: 5 },
      { media: { start_video } },
    );
    const [first, end] = [meanColour(frames[0] ?? last), meanColour(frames[4] ?? last)];

    for (const channel of [0, 1, 2] as const) assert.ok(Math.abs(first[channel] - meanColour(last)[channel]) < 4);
    assert.ok(end[2] > 100, end.join(' '));
  });
});

describe('videos that are cut from clips', () => {
  it('show every clip and every image, and have the requested duration', async () => {
    const media = {
      'reference_video_urls.0': await clip('red.mp4', RED, 1),
      'reference_video_urls.1': await clip('blue.mp4', BLUE, 2),
      'reference_image_urls.0': await quarters('insert.png', 320, 180),
    };
    const frames = await sample(
      { prompt: 'quick cuts', duration: 4, reference_video_urls: ['a', 'b'] },
      { media, perSecond: 4 },
    );
    const colours = frames.map(meanColour);

    assert.equal(frames.length, 16);
    assert.ok(colours.some(([red, , blue]) => red > 90 && blue < 80));
    assert.ok(colours.some(([red, , blue]) => blue > 90 && red < 80));
    assert.ok(colours.some(([, green]) => green > 70));
  });

  it('have the audio of the input', async () => {
    const video = await clip('silent.mp4', RED, 1);
    const tone = path.join(directory, 'tone.wav');
    await writeFile(tone, sineWav(1));
    const input = { prompt: 'slow', duration: 3, reference_video_urls: ['a'], resolution: '720p' };
    const media = mediaOf({ 'reference_video_urls.0': video, 'reference_audio_urls.0': tone });
    const { audio } = await planVideo({ input, seed: 1, media });

    assert.ok(audio?.kind === 'given');
    assert.equal(audio.seconds, 3);
    assert.ok(Math.abs(audio.audio.seconds - 1) < 0.01);
  });
});

describe('the look of a video', () => {
  it('follows its words and colours', () => {
    const [warm, cold] = [createLook('warm summer sunset'), createLook('cold winter night')];
    const [plain, red] = [createLook('a film'), createLook('a film', [hex('#d0342c')])];

    assert.ok((warm.red[128] ?? 0) - (warm.blue[128] ?? 0) > (cold.red[128] ?? 0) - (cold.blue[128] ?? 0) + 20);
    assert.ok((red.red[128] ?? 0) - (red.blue[128] ?? 0) > (plain.red[128] ?? 0) - (plain.blue[128] ?? 0) + 20);
    assert.equal(createLook('black and white').strength, 0);
  });
});

describe('files that cannot be used', () => {
  it('are rejected with their path in the input', async () => {
    const text = path.join(directory, 'text.txt');
    await writeFile(text, 'no image, no video, no audio');
    const video = await clip('good.mp4', RED, 1);
    for (const [input, media, position] of [
      [{ image_url: 'x' }, { image_url: text }, 'image_url'],
      [{ prompt: 'a', image_urls: ['x'] }, { 'image_urls.0': text }, 'image_urls.0'],
      [{ prompt: 'a', start_video: 'x' }, { start_video: text }, 'start_video'],
      [
        { prompt: 'a', reference_video_urls: ['x', 'y'] },
        { 'reference_video_urls.0': video, 'reference_video_urls.1': text },
        'reference_video_urls.1',
      ],
      [
        { prompt: 'a', reference_video_urls: ['x'] },
        { 'reference_video_urls.0': video, 'reference_image_urls.0': text },
        'reference_image_urls.0',
      ],
      [
        { prompt: 'a', reference_video_urls: ['x'] },
        { 'reference_video_urls.0': video, 'reference_audio_urls.0': text },
        'reference_audio_urls.0',
      ],
    ] as const) {
      await assert.rejects(
        planVideo({ input: { ...input, duration: 5 }, seed: 1, media: mediaOf(media) }),
        (error) =>
          error instanceof UndecodableMediaError &&
          error.message.startsWith(`${position}: `) &&
          error.fault.field === position,
        position,
      );
    }
  });
});

/** A tone of 440 Hz, mono, 16 bit, 8 kHz. */
function sineWav(seconds: number): Buffer {
  const samples = seconds * 8000;
  const bytes = Buffer.alloc(44 + samples * 2);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8, 'latin1');
  for (const [value, at] of [
    [16, 16],
    [8000, 24],
    [16_000, 28],
    [samples * 2, 40],
  ] as const)
    bytes.writeUInt32LE(value, at);
  for (const [value, at] of [
    [1, 20],
    [1, 22],
    [2, 32],
    [16, 34],
  ] as const)
    bytes.writeUInt16LE(value, at);
  bytes.write('data', 36, 'latin1');
  for (let index = 0; index < samples; index++)
    bytes.writeInt16LE(Math.round(12_000 * Math.sin((index * 440 * 2 * Math.PI) / 8000)), 44 + index * 2);
  return bytes;
}

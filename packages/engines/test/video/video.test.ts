/**
 * Promises of the video engine for scenes: which inputs change the frames, that the same input gives the same frames,
 * and that the file is as requested. Videos are drafts of 480p, sampled once per second.
 */
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { planVideo, renderVideo } from '../../src/video/video.ts';
import { openClip } from '@darkroom/media/decode';
import { difference, directory, sample } from './video-samples.ts';
import type { EngineInput } from '../../src/engine.ts';

const LAKE = { prompt: 'a mountain lake with a red canoe, noon', duration: 2 };

describe('videos of scenes', () => {
  it('have the same frames for the same input and seed, and different ones for another seed or prompt', async () => {
    const [first, again, seeded, other] = await Promise.all([
      sample(LAKE),
      sample(LAKE),
      sample(LAKE, { seed: 2 }),
      sample({ ...LAKE, prompt: 'a desert with camels, noon' }),
    ]);

    assert.ok(first.every((frame, index) => frame.rgba.equals(again[index]?.rgba ?? Buffer.alloc(0))));
    assert.ok(difference(first[0], seeded[0]) > 2);
    assert.ok(difference(first[0], other[0]) > 10);
  });

  it('change from frame to frame', async () => {
    for (const prompt of [
      'a sailing boat at sea, dusk',
      'a snowy forest with a deer, snowfall',
      'a coral reef with fish',
      'an astronaut in space',
      'fireworks above a city',
      'northern lights above a cabin in the snow',
      'a bowl of fruit on a table',
    ]) {
      const frames = await sample({ prompt, duration: 1 }, { perSecond: 3 });

      assert.ok(difference(frames[0], frames[1]) > 0.15, prompt);
      assert.ok(difference(frames[1], frames[2]) > 0.15, prompt);
    }
  });

  it('follow the camera that the prompt names', async () => {
    const still = await sample({ prompt: 'a meadow with hills, noon, static camera, clear sky', duration: 4 });
    const panning = await sample({ prompt: 'a meadow with hills, noon, pan right, clear sky', duration: 4 });

    assert.ok(difference(panning[0], panning[3]) > 2 * difference(still[0], still[3]));
  });

  it('turn day into night when the prompt says so', async () => {
    const frames = await sample({ prompt: 'a meadow with a house, from noon to night', duration: 6 });
    const light = frames.map(({ rgba }) => rgba.reduce((sum, value) => sum + value, 0) / rgba.length);

    assert.ok((light[0] ?? 0) > 1.4 * (light[5] ?? 0), light.join(' '));
  });

  it('exclude what the negative prompt names', async () => {
    const rain = { prompt: 'a lake in the rain, noon', duration: 1 };
    const [wet, dry, plain] = await Promise.all([
      sample(rain),
      sample({ ...rain, negative_prompt: 'rain' }),
      sample({ ...rain, negative_prompt: 'camels' }),
    ]);

    assert.ok(difference(wet[0], dry[0]) > 2);
    assert.equal(difference(wet[0], plain[0]), 0);
  });

  it('show titles for a while, and none in the first and last frame', async () => {
    const titled = { ...LAKE, duration: 4, prompt: `${LAKE.prompt}, "HELLO"` };
    const [plain, lettered] = await Promise.all([
      sample({ ...LAKE, duration: 4 }, { perSecond: 4 }),
      sample(titled, { perSecond: 4 }),
    ]);
    const shown = plain.map((frame, index) => difference(frame, lettered[index], { bottom: 0.5 }));

    assert.equal(shown[0], 0);
    assert.ok((shown[6] ?? 0) > 1);
    assert.equal(shown.at(-1), 0);
  });

  it('mark only the lower right corner when a watermark is requested', async () => {
    const [plain, marked] = await Promise.all([sample(LAKE), sample({ ...LAKE, watermark: true })]);

    assert.ok(difference(plain[0], marked[0], { left: 0.75, top: 0.88 }) > 1);
    assert.equal(difference(plain[0], marked[0], { right: 0.75 }), 0);
    assert.equal(difference(plain[0], marked[0], { bottom: 0.85 }), 0);
  });

  it('gain detail with prompt_extend', async () => {
    const [plain, extended] = await Promise.all([sample(LAKE), sample({ ...LAKE, prompt_extend: true })]);

    assert.ok(difference(plain[1], extended[1]) > 2);
  });

  it('are cut from several shots when they are long, and from one when the prompt says so', async () => {
    const shots = async (input: EngineInput) => (await planVideo({ input, seed: 1, media: new Map() })).video.shots;
    const long = await shots({ prompt: 'a lake', duration: 20 });

    assert.ok(long.length >= 3);
    assert.equal(long[0]?.from, 0);
    assert.equal(long.at(-1)?.to, 20);
    assert.equal((await shots({ prompt: 'a lake', duration: 5 })).length, 1);
    assert.equal((await shots({ prompt: 'a lake, one take', duration: 20 })).length, 1);
  });

  it('have styles that look different', async () => {
    const plain = await sample({ ...LAKE, duration: 1 });
    for (const style of [
      'watercolour',
      'oil painting',
      'pencil sketch',
      'pixel art',
      'noir',
      'vintage',
      'low-poly',
      'neon',
    ]) {
      const styled = await sample({ ...LAKE, prompt: `${LAKE.prompt}, ${style}`, duration: 1 });
      assert.ok(difference(plain[0], styled[0]) > 4, style);
    }
  });
});

describe('the video file', () => {
  async function render(input: EngineInput): Promise<Awaited<ReturnType<typeof openClip>> & { frameCount: number }> {
    const scratch = await mkdtemp(path.join(directory, 'work-'));
    const reported: number[] = [];
    const [file] = await renderVideo({
      input,
      seed: 1,
      media: new Map(),
      scratch,
      progress: (part) => reported.push(part),
    });
    assert.ok(file !== undefined && 'path' in file);
    assert.ok(reported.length > 1 && reported.every((part, index) => part >= (reported[index - 1] ?? 0) && part <= 1));
    const clip = await openClip(file.path, { width: 64, height: 36, fps: 24, maxFrames: 1000 });
    let frameCount = 0;
    for await (const frame of clip.frames) frameCount += frame.length > 0 ? 1 : 0;
    return { ...clip, frameCount };
  }

  it('has the requested size and exactly the requested duration, and no audio', async () => {
    const video = await render({ prompt: 'a lake', duration: 1, resolution: '480p', aspect_ratio: '4:3' });

    assert.deepEqual([video.width, video.height, video.hasAudio], [640, 480, false]);
    assert.equal(video.durationSeconds, 1);
    assert.equal(video.frameCount, 24);
  });

  it('accepts a duration given as a string', async () => {
    const plan = await planVideo({ input: { prompt: 'a lake', duration: '6' }, seed: 1, media: new Map() });

    assert.equal(plan.video.frames, 144);
    assert.deepEqual(plan.video.size, { width: 1366, height: 768 });
  });

  it('has half the size and half the frame rate as a draft', async () => {
    const plan = await planVideo({
      input: { prompt: 'a lake', duration: 3, draft: true, resolution: '720p' },
      seed: 1,
      media: new Map(),
    });

    assert.deepEqual([plan.video.size, plan.video.fps, plan.video.frames], [{ width: 640, height: 360 }, 12, 36]);
  });

  it('has an audio track when generate_audio is set', async () => {
    const video = await render({
      prompt: 'a thunderstorm over the sea',
      duration: 1,
      draft: true,
      resolution: '480p',
      generate_audio: true,
    });

    assert.equal(video.hasAudio, true);
  });
});

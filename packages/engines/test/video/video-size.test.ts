/**
 * Promises of a video's size: the shorter side is what the resolution names, the aspect ratio is preserved, both
 * sides are even.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { videoSize } from '../../src/video/video-size.ts';

const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'];
const SIDES = { '480p': 480, '720p': 720, '1080p': 1080, '4k': 2160 } as const;

describe('the size of a video', () => {
  it('has even sides, the named shorter side and the requested shape, for every ratio and resolution', () => {
    for (const aspect_ratio of RATIOS) {
      const [across = 1, down = 1] = aspect_ratio.split(':').map(Number);
      for (const [resolution, side] of Object.entries(SIDES)) {
        const { width, height } = videoSize({ aspect_ratio, resolution }, undefined, false);

        assert.equal(width % 2, 0);
        assert.equal(height % 2, 0);
        assert.ok(Math.abs(width / height / (across / down) - 1) < 0.006, `${aspect_ratio} ${resolution}`);
        // 21:9 at 4k would be wider than the encoder supports.
        if (!(aspect_ratio === '21:9' && resolution === '4k')) assert.equal(Math.min(width, height), side);
        assert.ok(Math.max(width, height) <= 4096);
      }
    }
  });

  it('is a television format where possible', () => {
    assert.deepEqual(videoSize({ resolution: '720p' }, undefined, false), { width: 1280, height: 720 });
    assert.deepEqual(videoSize({ resolution: '1080p' }, undefined, false), { width: 1920, height: 1080 });
    assert.deepEqual(videoSize({ resolution: '4k' }, undefined, false), { width: 3840, height: 2160 });
  });

  it('is halved for a draft', () => {
    assert.deepEqual(videoSize({ resolution: '720p' }, undefined, true), { width: 640, height: 360 });
  });

  it('is 768 pixels high when the model has no resolution', () => {
    assert.deepEqual(videoSize({}, undefined, false), { width: 1366, height: 768 });
  });

  it('keeps the shape of the first image, within 21:9', () => {
    assert.deepEqual(videoSize({ resolution: '480p' }, { width: 3000, height: 2000 }, false), {
      width: 720,
      height: 480,
    });
    assert.deepEqual(videoSize({ resolution: '480p' }, { width: 9000, height: 100 }, false), {
      width: 1120,
      height: 480,
    });
    assert.deepEqual(videoSize({ resolution: '480p' }, { width: 100, height: 9000 }, false), {
      width: 480,
      height: 1120,
    });
  });
});

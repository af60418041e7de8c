/** Promises of how a video's prompt is read: camera, light and cutting, in addition to the subjects. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readVideoPrompt } from '../../src/video/prompt-reading.ts';

describe('reading a video prompt', () => {
  it('finds the camera moves in their order', () => {
    for (const [prompt, moves] of [
      ['A lake, the camera slowly pushes in', ['push']],
      ['A lake, slow zoom out', ['pull']],
      ['A lake, pan to the left, then crane up', ['left', 'rise']],
      ['A lake, panning right', ['right']],
      ['A lake, tracking shot', ['right']],
      ['A lake, tilt down', ['sink']],
      ['A lake, orbiting', ['orbit']],
      ['A lake, handheld', ['shake']],
      ['A lake, static camera', ['still']],
      ['A calm lake', ['calm']],
      ['A lake', []],
    ] as const) {
      assert.deepEqual(readVideoPrompt(prompt).moves, moves, prompt);
    }
  });

  it('finds the first and last time of day when the light changes, and nothing when it does not', () => {
    for (const [prompt, light] of [
      ['A meadow, from noon to night', { time: 'noon', until: 'night' }],
      ['A city at sunset, night falls', { time: 'sunset', until: 'night' }],
      ['A harbour from dawn to noon', { time: 'dawn', until: 'noon' }],
      ['The sun rises over a sea', { time: 'dusk', until: 'morning' }],
      ['A timelapse of a city', { time: 'afternoon', until: 'night' }],
      ['A city at night', undefined],
      ['A lake at sunset', undefined],
    ] as const) {
      assert.deepEqual(readVideoPrompt(prompt).light, light, prompt);
    }
  });

  it('finds the pace of cutting', () => {
    assert.equal(readVideoPrompt('A lake, one take').cutting, 'none');
    assert.equal(readVideoPrompt('A lake, quick cuts').cutting, 'quick');
    assert.equal(readVideoPrompt('A lake, long dissolves').cutting, 'slow');
    assert.equal(readVideoPrompt('A lake').cutting, 'usual');
  });

  it('separates titles from the scene', () => {
    const { scene, moves } = readVideoPrompt('A lake, "PUSH IN"');

    assert.deepEqual(scene.quotations, ['PUSH IN']);
    assert.deepEqual(moves, []);
  });
});

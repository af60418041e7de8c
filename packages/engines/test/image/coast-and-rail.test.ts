/**
 * Promises of cliffs, lighthouses and trains: the sea below, rock that rises above it, rails with ground beneath
 * them.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compose } from '../../src/image/composition.ts';
import type { Composition } from '../../src/image/composition.ts';
import { railAt } from '../../src/image/layers/railway.ts';
import { placeOnGround } from '../../src/image/placement.ts';
import { readPrompt } from '../../src/image/prompt-reading.ts';
import { createRandom } from '@darkroom/seeded-random/random';
import { castOf, makeGrounds } from '../../src/image/scene-painting.ts';
import type { Cast, Grounds } from '../../src/image/scene-painting.ts';
import { stageFor } from '../../src/image/scene-stage.ts';
import { choosePalette } from '../../src/image/palette.ts';
import type { Stage } from '../../src/image/stage.ts';
import { createCanvas } from '@napi-rs/canvas';
import { differenceOf, pixelsOf, render } from './image-samples.ts';

interface Scene {
  readonly stage: Stage;
  readonly composition: Composition;
  readonly cast: Cast;
  readonly grounds: Grounds;
}

function laidOut(prompt: string, seed = 1): Scene {
  const random = createRandom(seed);
  const reading = readPrompt(prompt);
  const composition = compose(reading, random);
  const palette = choosePalette(reading, composition.time, composition.season, random);
  const context = createCanvas(300, 200).getContext('2d');
  const stage = stageFor(context, composition, { palette, style: 'natural' }, random);
  const cast = castOf(composition);
  return { stage, composition, cast, grounds: makeGrounds(stage, composition, cast) };
}

const PLACES = [0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98];

describe('a cliff and a lighthouse', () => {
  const prompts = [
    'a lighthouse on a cliff at sunset, "hello"',
    'a lighthouse on the cliffs',
    'a lighthouse on a headland',
    'a lighthouse by the sea',
    'a lighthouse in a harbour',
    'a lighthouse',
    'a lighthouse on a hill',
    'a lighthouse in a field of flowers',
    'a castle on a cliff',
    'cliffs',
  ];
  for (const prompt of prompts) {
    it(`stand over the sea: ${prompt}`, () => {
      for (let seed = 1; seed < 9; seed++) {
        const { composition, grounds, stage } = laidOut(prompt, seed);
        assert.deepEqual([composition.setting, composition.water], ['water', 'sea']);
        const { middle } = grounds;
        assert.equal(middle?.surface.form, 'cliff');
        const tops = PLACES.map((share) => middle.surface.yAt(share * stage.width));
        assert.ok(Math.min(...tops) < stage.horizon - stage.height * 0.08, 'rock over the water');
        assert.ok(tops.filter((y) => y >= stage.horizon).length >= 3, 'open sea beside it');
      }
    });
  }

  it('are inside the image, one on the other', () => {
    for (let seed = 1; seed < 9; seed++) {
      const { stage, cast, grounds } = laidOut('a lighthouse on a cliff', seed);
      const { middle } = grounds;
      const [entry] = cast.middle;
      assert.ok(middle && entry);
      const [placed] = placeOnGround(entry, middle, stage.horizon * 1.5, createRandom(seed));
      assert.ok(placed);
      assert.ok(placed.position.y - placed.size > 0, 'its lamp is seen');
      assert.ok(placed.position.y < stage.horizon - stage.height * 0.1, 'it stands high');
    }
  });

  it('have no sea when the prompt excludes it', () => {
    for (const prompt of ['a lighthouse, no sea', 'a lighthouse in the desert', 'a cliff in the mountains'])
      assert.ok(!laidOut(prompt).composition.mentions.has('sea'), prompt);
    assert.equal(laidOut('a lighthouse at a lake').composition.water, 'lake');
    assert.ok(laidOut('a waterfall over a cliff').composition.mentions.has('mountain'));
  });

  it('render differently without the cliff', async () => {
    const [cliff, plain] = await Promise.all(
      ['a lighthouse on a cliff at noon', 'a lighthouse at the sea at noon'].map(async (prompt) =>
        pixelsOf(await render('scene', { prompt, size: '256x256' })),
      ),
    );
    assert.ok(cliff && plain && differenceOf(cliff, plain, { top: 0.2, bottom: 0.6 }) > 8);
  });
});

describe('a train', () => {
  for (const prompt of ['steam train crossing a stone viaduct', 'a train on a bridge', 'a train, a bridge, a road'])
    it(`runs on the deck: ${prompt}`, () => {
      for (let seed = 1; seed < 9; seed++) {
        const { stage, cast, grounds } = laidOut(prompt, seed);
        const { middle } = grounds;
        const entry = cast.middle.find(({ mention }) => mention.thing === 'train');
        assert.ok(entry && middle && cast.across.some(({ mention }) => mention.thing === 'bridge'));
        assert.equal(middle.surface.form, 'deck');
        const [placed] = placeOnGround(entry, middle, stage.horizon, createRandom(seed));
        assert.equal(placed?.position.y, middle.surface.yAt(stage.width / 2));
      }
    });

  it('has its bridge directly under its wheels, from edge to edge', () => {
    const { stage, cast, grounds } = laidOut('a train on a bridge');
    const bridge = cast.across.find(({ mention }) => mention.thing === 'bridge');
    assert.ok(bridge && grounds.middle);
    const look = { colour: undefined, depth: 0.15, facing: 1, random: createRandom(1) } as const;
    bridge.subject.draw(stage, { x: 0, y: stage.horizon + 100 }, 120, look);
    const deck = railAt(grounds.middle.surface, 0);
    const alphaAt = (share: number, y: number): number =>
      stage.context.getImageData(share * stage.width * stage.scale, y * stage.scale, 1, 1).data[3] ?? 0;
    for (const share of PLACES) {
      assert.equal(alphaAt(share, deck - 12), 0, 'open above the deck');
      assert.equal(alphaAt(share, deck + 6), 255, 'stone below the wheels');
    }
  });

  it('has level ground under its rails from edge to edge where there is no bridge', () => {
    for (const prompt of ['a steam train in the mountains', 'a train', 'a train by the sea', 'a tram in the city'])
      for (let seed = 1; seed < 6; seed++) {
        const { stage, grounds, composition } = laidOut(prompt, seed);
        const { middle } = grounds;
        assert.equal(middle?.surface.form, 'track', prompt);
        assert.deepEqual([middle.surface.left, middle.surface.right], [0, stage.width]);
        const rails = PLACES.map((position) => railAt(middle.surface, position * stage.width));
        assert.equal(new Set(rails).size, 1);
        assert.ok(PLACES.every((position) => middle.surface.yAt(position * stage.width) < (rails[0] ?? 0)));
        if (composition.setting === 'water') assert.ok((rails[0] ?? 0) < stage.horizon, 'over the water');
      }
  });
});

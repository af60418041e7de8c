/** Promises of the results of common prompts: people, animals, food, riders; and of seasonal elements. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compose } from '../../src/image/composition.ts';
import type { Composition } from '../../src/image/composition.ts';
import { readSitter } from '../../src/image/portrait-reading.ts';
import { readPrompt } from '../../src/image/prompt-reading.ts';
import { createRandom } from '@darkroom/seeded-random/random';
import { SUBJECTS } from '../../src/image/subjects.ts';
import { TABLE_THINGS } from '../../src/image/tabletop.ts';
import { meanOf, pixelsOf, render, shareOf } from './image-samples.ts';

const SMALL = '256x256';

function composed(prompt: string, seed = 1): Composition {
  return compose(readPrompt(prompt), createRandom(seed));
}

describe('the setting of a prompt', () => {
  const expected: Readonly<Record<string, Composition['setting']>> = {
    'a girl with red hair and a yellow raincoat': 'portrait',
    'two friends at a table': 'portrait',
    'a bearded man in the mountains': 'portrait',
    'a wanderer in the mountains': 'land',
    'a pizza on a wooden table': 'table',
    'a steaming bowl of ramen': 'table',
    'a crystal ball': 'table',
    'a cosy reading room with a fireplace': 'room',
    'a cat on a windowsill': 'room',
    'a motorcycle in front of a diner': 'land',
    'an octopus': 'undersea',
    'an astronaut riding a horse on the moon': 'space',
  };
  for (const [prompt, setting] of Object.entries(expected)) {
    it(`is a ${setting}: ${prompt}`, () => assert.equal(composed(prompt).setting, setting));
  }

  it('can draw what prompts often ask for', () => {
    const names =
      'dragon penguin giraffe turtle tiger panda zebra frog parrot bee mermaid bicycle motorcycle lamppost bench umbrella chest eiffel-tower';
    for (const name of names.split(' ')) {
      const [mention] = readPrompt(`a ${name}`).mentions;
      assert.ok(mention && SUBJECTS[mention.thing], name);
    }
    for (const name of 'pizza burger ramen pancake donut ice-cream sneaker perfume'.split(' ')) {
      const [mention] = readPrompt(`a ${name}`).mentions;
      assert.ok(mention && TABLE_THINGS[mention.thing], name);
    }
  });
});

describe('the subjects of a prompt', () => {
  it('puts a rider on the mount, and leaves others where they are', () => {
    const { mentions } = composed('an astronaut riding a horse');
    assert.equal(mentions.get('horse')?.rider?.thing, 'astronaut');
    assert.ok(!mentions.has('astronaut'));
    assert.equal(composed('an astronaut and a horse').mentions.get('horse')?.rider, undefined);
  });

  it('draws a family of an animal as several animals', () => {
    const { mentions } = composed('a penguin family');
    assert.ok(!mentions.has('couple') && (mentions.get('penguin')?.count ?? 0) >= 3);
  });

  it('does not paint a red fox red', () => {
    assert.equal(readPrompt('a red fox').mentions[0]?.colour, undefined);
    assert.ok(readPrompt('a red car').mentions[0]?.colour);
    assert.ok(readPrompt('a blue fox').mentions[0]?.colour);
  });

  it('assigns colours to hair and clothes separately', () => {
    const { hair, clothes } = readSitter('a girl with red hair and a yellow raincoat', createRandom(1));
    assert.ok(hair[0] > hair[1] * 1.8, 'red hair');
    assert.ok(clothes[0] > 180 && clothes[1] > 150 && clothes[2] < 120, 'a yellow coat');
  });

  it('fills a bowl with the named fruit', async () => {
    const bowl = async (fruit: string): Promise<{ red: number; green: number }> =>
      meanOf(await pixelsOf(await render('scene', { prompt: `a bowl of ${fruit} on a table`, size: SMALL })), {
        left: 0.4,
        right: 0.65,
        top: 0.35,
        bottom: 0.55,
      });
    const [oranges, apples] = [await bowl('oranges'), await bowl('apples')];
    assert.ok(oranges.green / oranges.red > apples.green / apples.red + 0.08, JSON.stringify([oranges, apples]));
  });

  it('draws a single animal large', async () => {
    const image = await pixelsOf(await render('scene', { prompt: 'a red fox in the snow at noon', size: SMALL }));
    assert.ok(shareOf(image, (red, green, blue) => red > green + 60 && green > blue) > 0.012);
  });
});

describe('winter', () => {
  it('has no flowers that the prompt does not name', () => {
    for (const prompt of ['a cat while it is snowing', 'a dog in winter', 'a house, snowfall', 'a penguin'])
      for (let seed = 1; seed < 12; seed++) {
        const { mentions, season } = composed(prompt, seed);
        assert.equal(season, 'winter', prompt);
        assert.ok(!mentions.has('flower'), prompt);
      }
  });
});

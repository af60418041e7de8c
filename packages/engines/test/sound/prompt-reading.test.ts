/** How a prompt for a sound is understood. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LEXICON } from '../../src/sound/lexicon.ts';
import { readSoundPrompt } from '../../src/sound/prompt-reading.ts';
import type { Mention, SoundReading } from '../../src/sound/prompt-reading.ts';
import { stem } from '../../src/sound/prompt-words.ts';

function read(prompt: string): SoundReading {
  return readSoundPrompt(prompt, LEXICON);
}

function names(prompt: string): (string | undefined)[][] {
  return read(prompt).acts.map((act) => act.mentions.map(({ thing }) => thing.names[0]));
}

function only(prompt: string): Mention {
  const [act, ...others] = read(prompt).acts;
  const [mention, ...more] = act?.mentions ?? [];
  assert.ok(mention !== undefined && others.length === 0 && more.length === 0, prompt);
  return mention;
}

describe('the reading of a prompt for a sound', () => {
  it('finds things in any form of their words', () => {
    for (const prompt of ['cricket', 'CRICKETS!', 'the crickets’ song', 'a Cricket.']) {
      assert.deepEqual(names(prompt), [['cricket']]);
    }
    assert.deepEqual(names('glass breaking'), [['glass break']]);
    assert.deepEqual(names('The door creaks'), [['creak']]);
    assert.equal(stem('breaking'), stem('breaks'));
    assert.equal(stem('ring'), 'ring');
  });

  it('puts things separated by `then` one after the other, and all others at once', () => {
    assert.deepEqual(names('rain and wind, then thunder, followed by silence and a dog'), [
      ['rain', 'wind'],
      ['thunder'],
      ['dog'],
    ]);
    assert.deepEqual(names('first a bell. After that a gong. Finally, applause'), [['bell'], ['gong'], ['applause']]);
  });

  it('assigns an adjective to the next thing, and words for a position or surface to the previous one', () => {
    const [rain, thunder] = read('heavy rain on a tin roof and distant thunder').acts[0]?.mentions ?? [];
    assert.ok(rain !== undefined && thunder !== undefined);
    assert.ok(rain.manner.weight > 1.3 && rain.manner.surface === 'roof' && rain.distance < 10);
    assert.ok(thunder.manner.weight === 1 && thunder.distance > 20);

    assert.equal(only('footsteps on gravel').manner.surface, 'gravel');
    assert.equal(only('a car passing by').manner.course, 'passing');
    assert.ok((only('a siren on the left').side ?? 0) < 0);
    assert.ok((only('slow footsteps').manner.pace ?? 1) < 1);
  });

  it('reads counts', () => {
    assert.equal(only('three knocks on a wooden door').count, 3);
    assert.equal(only('a dog barks twice').count, 2);
    assert.equal(only('a gong 4 times').count, 4);
    assert.equal(only('footsteps').count, undefined);
  });

  it('omits excluded things', () => {
    assert.deepEqual(names('a forest without birds'), [['rustling', 'wind']]);
    assert.deepEqual(names('rain, no thunder'), [['rain']]);
  });

  it('recognizes places by their sounds and their rooms', () => {
    assert.deepEqual(names('thunderstorm'), [['rain', 'wind', 'thunder']]);
    assert.equal(read('footsteps in a cathedral').acts[0]?.room, 'church');
    assert.equal(read('In a cave. Drops of water').acts[0]?.room, 'cave');
    assert.equal(read('applause').acts[0]?.room, undefined);
  });

  it('reads effects on the whole sound', () => {
    assert.ok(read('a reversed cymbal').effects.isReversed);
    assert.ok(read('a bell underwater').effects.isUnderwater);
    assert.ok(read('a dog over the radio').effects.isThroughRadio);
    assert.ok(read('a bell with echo').effects.hasEcho);
  });

  it('ignores unknown words, and never fails', () => {
    assert.deepEqual(read('zxq blorf').acts, []);
    for (const prompt of ['', '…', '\u0000\ud800', 'then then then', 'no', 'a '.repeat(2000), '3 times']) {
      assert.deepEqual(read(prompt).acts, []);
    }
    assert.ok((read('dog cat cow bell gong rain wind frog '.repeat(20)).acts[0]?.mentions.length ?? 0) <= 8);
  });
});

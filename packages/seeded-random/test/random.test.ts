/** Reproducible random numbers: what the outputs of engines depend on never changes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, hashText } from '../src/random.ts';

const DRAWS = 10_000;
const FIRST_OF_ONE = [0.6270739405881613, 0.002735721180215478, 0.5274470399599522];
const HASHES = [1_947_474_976, 2_227_768_868, 525_855_661, 2_731_512_844];

function draw<T>(count: number, next: () => T): readonly T[] {
  return Array.from({ length: count }, next);
}

describe('a stream of random numbers', () => {
  it('is the same for the same seed, on every machine and in every release', () => {
    const { next } = createRandom(1);

    assert.deepEqual(draw(3, next), FIRST_OF_ONE);
    assert.notDeepEqual(draw(3, createRandom(2).next), FIRST_OF_ONE);
  });

  it('stays within its bounds and reaches them', () => {
    const random = createRandom(7);

    assert.ok(draw(DRAWS, () => random.next()).every((value) => value >= 0 && value < 1));
    assert.ok(draw(DRAWS, () => random.between(-2, 3)).every((value) => value >= -2 && value < 3));
    assert.deepEqual(new Set(draw(DRAWS, () => random.integer(2, 5))), new Set([2, 3, 4, 5]));
    assert.deepEqual(new Set(draw(DRAWS, () => random.pick(['a', 'b', 'c']))), new Set(['a', 'b', 'c']));
  });

  it('is even: numbers have the expected mean, and chances their frequency', () => {
    const random = createRandom(11);
    const mean = draw(DRAWS, () => random.next()).reduce((sum, value) => sum + value, 0) / DRAWS;
    const hits = draw(DRAWS, () => random.chance(0.25)).filter(Boolean).length / DRAWS;

    assert.ok(Math.abs(mean - 0.5) < 0.02, `${mean}`);
    assert.ok(Math.abs(hits - 0.25) < 0.02, `${hits}`);
    assert.equal(random.chance(0), false);
    assert.equal(random.chance(1), true);
  });

  it('forks into streams that depend on its seed and their names, and not on what was drawn before', () => {
    const [fresh, used] = [createRandom(3), createRandom(3)];
    draw(5, used.next);

    assert.deepEqual(draw(3, used.fork('clouds').next), draw(3, fresh.fork('clouds').next));
    assert.notDeepEqual(draw(3, fresh.fork('clouds').next), draw(3, fresh.fork('waves').next));
  });
});

describe('the hash of a text', () => {
  it('is a seed of 32 bits, which never changes', () => {
    assert.deepEqual(['', 'a lighthouse', 'a lighthouse ', '灯台'].map(hashText), HASHES);
  });
});

/** The randomness of campaigns: reproducible from a seed, with a stream for each name. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom } from '../src/random.ts';

const ITEMS = [1, 2, 3, 4, 5, 6, 7, 8];

describe('a random stream', () => {
  it('is the same for the same seed and name, and another for others', () => {
    const draw = (seed: number, name: string): readonly number[] => createRandom(seed, name).shuffled(ITEMS);

    assert.deepEqual(draw(1, 'faults'), draw(1, 'faults'));
    assert.notDeepEqual(draw(1, 'faults'), draw(2, 'faults'));
    assert.notDeepEqual(draw(1, 'faults'), draw(1, 'clients'));
  });

  it('draws from both bounds and everything between them', () => {
    const random = createRandom(1, 'bounds');
    const drawn = new Set(Array.from({ length: 1_000 }, () => random.between(3, 6)));

    assert.deepEqual(drawn, new Set([3, 4, 5, 6]));
    assert.deepEqual([random.isWithChance(0), random.isWithChance(1)], [false, true]);
  });

  it('shuffles without losing anything, and picks only from what there is', () => {
    const random = createRandom(1, 'choices');

    assert.deepEqual(
      random.shuffled(ITEMS).toSorted((one, other) => one - other),
      ITEMS,
    );
    assert.ok(ITEMS.includes(random.pick(ITEMS)));
    assert.throws(() => random.pick([]), /no choices/);
  });
});

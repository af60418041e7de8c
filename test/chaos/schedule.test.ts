/** The schedule of a campaign: the same for the same seed, with every possible fault in it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drawWish } from './clients/wishes.ts';
import { INVARIANTS } from './invariants/invariants.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { createRandom } from '@darkroom/testing/random';
import { TARGETS, planFaults } from './schedule.ts';

describe('the schedule of a campaign', () => {
  it('is the same for the same seed, and another one for another', () => {
    assert.deepEqual(planFaults(7, 180_000), planFaults(7, 180_000));
    assert.notDeepEqual(planFaults(7, 180_000), planFaults(8, 180_000));
  });

  it('has each kind of fault at least once in three minutes, and each target of a kind in an hour', () => {
    const kinds = new Set(planFaults(1, 180_000).map(({ kind }) => kind));
    assert.deepEqual([...kinds].toSorted(), Object.keys(TARGETS).toSorted());

    const all = new Set(planFaults(1, 3_600_000).map(({ kind, target }) => `${kind} ${target}`));
    const wanted = Object.entries(TARGETS).flatMap(([kind, targets]) => targets.map((target) => `${kind} ${target}`));
    assert.deepEqual(
      wanted.filter((each) => !all.has(each)),
      [],
    );
  });

  it('lies within its storm, however short', () => {
    for (const stormMs of [20_000, 180_000, 600_000]) {
      for (const { atMs, forMs } of planFaults(3, stormMs)) {
        assert.ok(atMs >= 0 && atMs <= stormMs, `${atMs} of ${stormMs}`);
        assert.ok(forMs > 0 && forMs <= 30_000);
      }
    }
  });

  it('is empty for a campaign in peace', () => {
    assert.deepEqual(planFaults(1, 60_000, []), []);
  });

  it('requests the same work whichever client requests first', () => {
    const draw = (): unknown[] => {
      const random = createRandom(5, 'client ada');
      return Array.from({ length: 20 }, (_, number) => drawWish(random, { account: 'ada', number, forbiddenUrl: 'x' }));
    };
    assert.deepEqual(draw(), draw());
  });
});

describe('the mutants of a campaign', () => {
  it('are there for each invariant, under names of their own', () => {
    const violated = new Set(MUTANTS.map(({ invariant }) => invariant));

    assert.deepEqual(
      INVARIANTS.filter((invariant) => !violated.has(invariant)).map(({ name }) => name),
      [],
    );
    assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
  });
});

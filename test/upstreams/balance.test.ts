/** In which order a task tries the members of a pool, by what one process knows. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Balance } from '../../src/catalogue/definition.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { createBalancer } from '../../src/upstreams/balance.ts';
import type { PoolMember } from '../../src/upstreams/balance.ts';
import { HEALTHY } from '../../src/upstreams/states.ts';
import type { UpstreamState } from '../../src/upstreams/states.ts';

const A: PoolMember = { name: 'a', weight: 1 };
const B: PoolMember = { name: 'b', weight: 1 };
const C: PoolMember = { name: 'c', weight: 1 };

/** A balancer over states that the test changes, and its clock. */
function balancerOf(states: Record<string, Partial<UpstreamState>>) {
  const clock = { ms: 0, reads: 0 };
  const balancer = createBalancer({
    readStates(names) {
      clock.reads++;
      return Promise.resolve(new Map(names.map((name) => [name, { ...HEALTHY, ...states[name] }])));
    },
    now: () => clock.ms,
    random: () => 0.5,
  });
  const first = async (members: readonly PoolMember[], balance: Balance = 'least_busy'): Promise<string> => {
    const { candidates } = await balancer.sort(members, newTaskId(), balance);
    return candidates[0]?.name ?? assert.fail();
  };
  return { balancer, clock, first };
}

describe('the balance of a pool', () => {
  it('reads the members four times a second at most, and counts what this process has sent since', async () => {
    const states = { a: { jobs: 3 }, b: { jobs: 0 } };
    const { balancer, clock, first } = balancerOf(states);
    const chosen: string[] = [];
    for (let task = 0; task < 5; task++) chosen.push(await first([A, B]));
    assert.deepEqual(chosen.slice(0, 3), ['b', 'b', 'b']);
    assert.deepEqual(chosen.slice(3).toSorted(), ['a', 'b']);
    assert.equal(clock.reads, 1);

    // What was read meanwhile has the tasks that arrived, and not those on their way.
    const task = newTaskId();
    await balancer.sort([A, B], task, 'least_busy');
    balancer.entered(task, 'b', true);
    Object.assign(states, { a: { jobs: 0 }, b: { jobs: 4 } });
    clock.ms = 20_000;
    assert.equal(await first([A, B]), 'a');
    assert.equal(clock.reads, 2);
  });

  it('forgets a task that a member did not admit, or that has left', async () => {
    const { balancer, first } = balancerOf({ a: { jobs: 0 }, b: { jobs: 1 } });
    const [rejected, gone] = [newTaskId(), newTaskId()];
    for (const task of [rejected, gone]) {
      await balancer.sort([A], task, 'least_busy');
      if (task === rejected) balancer.entered(task, 'a', false);
      else balancer.left(task, 'a');
    }
    assert.equal(await first([A, B]), 'a');
  });

  it('tries members that are full apart, and those that are closed last', async () => {
    const { balancer } = balancerOf({
      a: { jobs: 1 },
      b: { isDrained: true },
      c: { jobs: 5, isCapPublished: true, cap: 6 },
    });
    const members = [{ ...A, concurrency: 1 }, B, { ...C, concurrency: 1 }];

    const { candidates, full } = await balancer.sort(members, newTaskId(), 'least_busy');

    assert.deepEqual([candidates.map(({ name }) => name), full.map(({ name }) => name)], [['c', 'b'], ['a']]);
  });

  it('tries a member again whose circuit breaker is due for it', async () => {
    const { first } = balancerOf({ a: { isBroken: true, openMs: 0 }, b: { jobs: 1 } });
    assert.equal(await first([A, B]), 'a');
  });

  it('divides jobs by weight', async () => {
    const { first } = balancerOf({ a: { jobs: 4 }, b: { jobs: 2 } });
    assert.equal(await first([{ ...A, weight: 3 }, B]), 'a');
  });

  it('gives each its share by weight, also when one is closed in between', async () => {
    const states: Record<string, Partial<UpstreamState>> = {};
    const { clock, first } = balancerOf(states);
    const members = [
      { ...A, weight: 5 },
      { ...B, weight: 3 },
      { ...C, weight: 2 },
    ];
    const shares = async (tasks: number): Promise<readonly number[]> => {
      const counts = { a: 0, b: 0, c: 0 };
      for (let task = 0; task < tasks; task++) {
        const name = await first(members, 'weighted');
        assert.ok(name === 'a' || name === 'b' || name === 'c');
        counts[name]++;
      }
      return [counts.a, counts.b, counts.c];
    };
    assert.deepEqual(await shares(100), [50, 30, 20]);

    states['a'] = { isDrained: true };
    clock.ms += 1_000;
    const [none, most = 0, least = 0] = await shares(50);
    assert.deepEqual([none, most + least], [0, 50]);
    assert.ok(Math.abs(most - 30) <= 2, String(most));
  });

  it('keeps the order of the list, without members that cannot take a task', async () => {
    const { first } = balancerOf({ a: { pausedMs: 1_000 }, b: { jobs: 9 } });
    assert.equal(await first([A, B, C], 'ordered'), 'b');
  });
});

/** A tenant's share of a scarce resource: its bounds, exceeding them, and the order of tenants. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ShareExhaustedError, createTenantShares } from '../../src/limits/tenant-shares.ts';
import type { Lease, TenantShareOptions, TenantShares } from '../../src/limits/tenant-shares.ts';

const WAITING = { perTenant: 10, perProcess: 100 };

function sharesOf(options: Omit<TenantShareOptions, 'resource'>): TenantShares {
  return createTenantShares({ resource: 'uploads', ...options });
}

function taken(answer: Lease | string): Lease {
  return typeof answer === 'string' ? assert.fail(`none was left of the ${answer}`) : answer;
}

/** Lets everything that was resolved continue. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** The order in which waiters get what those before them give back. @param waiters beginning with their tenants. */
async function orderOf(shares: TenantShares, held: Lease[], waiters: readonly string[]): Promise<readonly string[]> {
  const order: string[] = [];
  for (const waiter of waiters) {
    void shares.take(waiter.split(' ')[0] ?? '').then((lease) => {
      order.push(waiter);
      held.push(lease);
    });
  }
  for (let next = held.shift(); next !== undefined; next = held.shift()) {
    next.release();
    await settled();
  }
  return order;
}

describe('a share without a queue', () => {
  it('is denied to a tenant past its own limit, and not to another', () => {
    const shares = sharesOf({ capacity: 4, perTenant: 2 });
    taken(shares.tryTake('one'));
    taken(shares.tryTake('one'));

    assert.equal(shares.tryTake('one'), 'tenant');
    taken(shares.tryTake('two'));
    taken(shares.tryTake('two'));
    assert.equal(shares.tryTake('three'), 'process');
    assert.deepEqual(shares.usage(), { inUse: 4, capacity: 4, tenants: 2, waiting: 0 });
  });

  it('leaves as much free as a tenant holds, when configured', () => {
    const shares = sharesOf({ capacity: 8, leavesFree: true });
    const count = (tenant: string): number => {
      let number = 0;
      while (typeof shares.tryTake(tenant) !== 'string') number += 1;
      return number;
    };

    assert.deepEqual([count('one'), count('two'), count('three'), count('four')], [4, 2, 1, 1]);
    assert.equal(count('five'), 0);
  });

  it('leaves as many bytes free, too, in whatever pieces they are acquired', () => {
    const shares = sharesOf({ capacity: 100, leavesFree: true });
    assert.equal(shares.tryTake('one', 100), 'tenant');
    const one = taken(shares.tryTake('one', 30));
    assert.equal(one.grow(21), 'tenant');
    assert.equal(one.grow(20), undefined);
    assert.equal(shares.tryTake('two', 50), 'tenant');
    taken(shares.tryTake('two', 25));
  });

  it('is acquired only up to the current limit of a tenant', () => {
    const most = new Map([['one', 1]]);
    const shares = sharesOf({ capacity: 4, mostOf: (tenant) => most.get(tenant) ?? Infinity });
    const first = taken(shares.tryTake('one'));
    assert.equal(shares.tryTake('one'), 'tenant');
    taken(shares.tryTake('two'));

    most.set('one', 0);
    first.release();

    assert.equal(shares.tryTake('one'), 'tenant');
    most.delete('one');
    taken(shares.tryTake('one', 3));
  });

  it('is not created with limits that limit nothing', () => {
    for (const wrong of [Number.NaN, -1]) {
      assert.throws(() => sharesOf({ capacity: wrong }), RangeError);
      assert.throws(() => sharesOf({ perTenant: wrong }), RangeError);
      assert.throws(() => sharesOf({ waiting: { perTenant: wrong, perProcess: 1 } }), RangeError);
      assert.throws(() => sharesOf({ waiting: { perTenant: 1, perProcess: wrong } }), RangeError);
    }
    assert.equal(sharesOf({ capacity: 0 }).tryTake('one'), 'tenant');
  });

  it('is released once, however often release is called', () => {
    const shares = sharesOf({ capacity: 1 });
    const first = taken(shares.tryTake('one'));
    first.release();
    first.release();
    taken(shares.tryTake('two'));

    first.release();

    assert.equal(shares.tryTake('three'), 'process');
  });

  it('grows within the same limits, from zero as well', () => {
    const shares = sharesOf({ capacity: 10, perTenant: 6 });
    const one = taken(shares.tryTake('one', 0));
    const two = taken(shares.tryTake('two', 0));

    assert.equal(one.grow(6), undefined);
    assert.equal(one.grow(1), 'tenant');
    assert.equal(two.grow(5), 'process');
    assert.equal(two.grow(4), undefined);
    one.release();
    two.release();

    assert.deepEqual(shares.usage(), { inUse: 0, capacity: 10, tenants: 0, waiting: 0 });
    assert.throws(() => one.grow(1), TypeError);
  });

  it('reports whose share was used up, and how long to wait', async () => {
    const shares = sharesOf({ capacity: 2, perTenant: 1, retryAfterSeconds: 7 });
    taken(shares.tryTake('one'));
    await assert.rejects(shares.take('one'), (error: unknown) => {
      assert.ok(error instanceof ShareExhaustedError);
      assert.deepEqual([error.by, error.retryAfterSeconds], ['tenant', 7]);
      return true;
    });
    taken(shares.tryTake('two'));
    await assert.rejects(shares.take('three'), { by: 'process' });
  });

  it('is held for as long as the work takes, also when it fails', async () => {
    const shares = sharesOf({ perTenant: 1 });
    await assert.rejects(
      shares.run('one', () => Promise.reject(new Error('broke off'))),
      /broke off/,
    );

    assert.equal(await shares.run('one', async () => shares.heldBy('one')), 1);
    assert.equal(shares.heldBy('one'), 0);
  });
});

describe('a share with a queue', () => {
  it('goes to the tenant that holds least, and within a tenant in order', async () => {
    const shares = sharesOf({ capacity: 2, waiting: WAITING });
    const held = [await shares.take('greedy'), await shares.take('greedy')];

    const order = await orderOf(shares, held, ['greedy 1', 'greedy 2', 'late']);

    assert.deepEqual(order, ['late', 'greedy 1', 'greedy 2']);
  });

  it('does not overtake a waiter whose turn it is and who needs more than is free', async () => {
    const shares = sharesOf({ capacity: 10, waiting: WAITING });
    const held = await shares.take('one', { units: 5 });
    const large = shares.take('two', { units: 8 });

    assert.equal(shares.tryTake('one', 2), 'process');
    held.release();

    assert.equal((await large).units, 8);
  });

  it('is granted round-robin among tenants that hold the same, however many of one are waiting', async () => {
    const shares = sharesOf({ capacity: 1, waiting: WAITING });
    const held = [await shares.take('crowd')];

    const order = await orderOf(shares, held, ['crowd', 'crowd', 'crowd', 'crowd', 'late', 'late', 'later']);

    assert.deepEqual(order, ['crowd', 'late', 'later', 'crowd', 'late', 'crowd', 'crowd']);
  });

  it('admits a new tenant when a few tenants fill the queue: the longest one loses its last waiter', async () => {
    const shares = sharesOf({ capacity: 1, waiting: { perTenant: 4, perProcess: 6 } });
    const held = await shares.take('one');
    const outcomes: string[] = [];
    const wait = (name: string): void => {
      shares.take(name.slice(0, -1)).then(
        (lease) => {
          outcomes.push(name);
          lease.release();
        },
        (error: unknown) => outcomes.push(`${name} ${error instanceof ShareExhaustedError ? error.by : 'broke off'}`),
      );
    };
    for (const name of ['one1', 'one2', 'one3', 'one4', 'two1', 'two2', 'new1']) wait(name);
    await settled();
    assert.deepEqual(outcomes, ['one4 process']);
    // A tenant with as many as the others does not take a slot from them.
    wait('new2');
    await settled();
    wait('two3');
    await settled();
    assert.deepEqual(outcomes, ['one4 process', 'one3 process', 'two3 process']);
    assert.equal(shares.usage().waiting, 6);

    held.release();
    await settled();
    assert.deepEqual(outcomes.slice(3), ['one1', 'two1', 'new1', 'one2', 'two2', 'new2']);
    assert.deepEqual(shares.usage(), { inUse: 0, capacity: 1, tenants: 0, waiting: 0 });
  });

  it('limits the number of waiters, in total and per tenant', async () => {
    const shares = sharesOf({ capacity: 1, waiting: { perTenant: 2, perProcess: 3 } });
    const held = await shares.take('one');
    const waits = [shares.take('one'), shares.take('two'), shares.take('one')];

    await assert.rejects(shares.take('one'), { name: 'ShareExhaustedError' });
    await assert.rejects(shares.take('two'), { by: 'process' });

    held.release();
    for (const wait of waits) (await wait).release();
    assert.deepEqual(shares.usage(), { inUse: 0, capacity: 1, tenants: 0, waiting: 0 });
  });

  it('rejects a request that can never be satisfied', async () => {
    const shares = sharesOf({ capacity: 4, perTenant: 2, waiting: WAITING });

    await assert.rejects(shares.take('one', { units: 3 }), { by: 'tenant' });
  });

  it('waits no longer than the caller can, and those behind it continue', async () => {
    const shares = sharesOf({ capacity: 10, waiting: WAITING });
    const held = await shares.take('one', { units: 5 });
    const impatient = shares.take('two', { units: 8, waitMs: 20 });
    const gone = new AbortController();
    const aborted = shares.take('three', { units: 9, signal: gone.signal });
    const behind = shares.take('four', { units: 4 });

    await assert.rejects(impatient, { name: 'ShareExhaustedError', by: 'process' });
    gone.abort(new Error('gone'));
    await assert.rejects(aborted, /gone/);

    (await behind).release();
    held.release();
    assert.deepEqual(shares.usage(), { inUse: 0, capacity: 10, tenants: 0, waiting: 0 });
  });

  it('passes a unit on to a tenant that has less, before its own longer waiters, and reacquires it first', async () => {
    const shares = sharesOf({ capacity: 1, waiting: { perTenant: 3, perProcess: 8 } });
    const held = await shares.take('a');
    assert.equal(held.passOn(), false);
    const order: string[] = [];
    const wait = async (tenant: string, name: string, isFirstOfTenant = false): Promise<void> => {
      const lease = await shares.take(tenant, { isFirstOfTenant });
      order.push(name);
      lease.release();
    };
    const own = wait('a', 'the next of a');
    assert.equal(shares.isOutranked('a'), false);
    assert.equal(held.passOn(), false);
    const other = wait('b', 'b');
    assert.equal(shares.isOutranked('a'), true);
    assert.equal(held.passOn(), true);
    assert.equal(held.passOn(), false);
    await Promise.all([own, other, wait('a', 'the first of a', true)]);

    assert.deepEqual(order, ['b', 'the first of a', 'the next of a']);
    assert.deepEqual(shares.usage(), { inUse: 0, capacity: 1, tenants: 0, waiting: 0 });
  });

  it('skips a waiter above its current limit, and keeps it in the queue until it is below', async () => {
    let most = 0;
    const shares = sharesOf({ capacity: 1, mostOf: (tenant) => (tenant === 'bound' ? most : 1), waiting: WAITING });
    const order: string[] = [];
    const inLine = async (tenant: string): Promise<Lease> => {
      const lease = await shares.take(tenant);
      order.push(tenant);
      return lease;
    };
    const bound = inLine('bound');
    const other = await inLine('other');

    most = 1;
    other.release();

    (await bound).release();
    assert.deepEqual(order, ['other', 'bound']);
  });

  it('never exceeds a limit, and leaves no capacity unused, whatever arrives', async () => {
    const actions = fc.array(
      fc.record({
        kind: fc.constantFrom('take', 'try', 'grow', 'release', 'abort'),
        tenant: fc.constantFrom('a', 'b', 'c', 'd'),
        units: fc.integer({ min: 0, max: 7 }),
        pick: fc.nat(1_000),
      }),
      { maxLength: 120 },
    );
    const limits = fc.record({
      capacity: fc.integer({ min: 1, max: 12 }),
      perTenant: fc.integer({ min: 1, max: 12 }),
      leavesFree: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(limits, actions, async (bounds, steps) => {
        const shares = sharesOf({ ...bounds, waiting: { perTenant: 3, perProcess: 8 } });
        const leases: Lease[] = [];
        const waits = new Set<AbortController>();
        for (const { kind, tenant, units, pick } of steps) {
          if (kind === 'take') {
            const controller = new AbortController();
            waits.add(controller);
            void shares
              .take(tenant, { units, signal: controller.signal })
              .then((lease) => leases.push(lease))
              .catch(() => {})
              .finally(() => waits.delete(controller));
          } else if (kind === 'try') {
            const lease = shares.tryTake(tenant, units);
            if (typeof lease !== 'string') leases.push(lease);
          } else if (kind === 'grow') leases[pick % leases.length]?.grow(units);
          else if (kind === 'release') leases.splice(pick % (leases.length + 1), 1)[0]?.release();
          else [...waits][pick % (waits.size + 1)]?.abort();
          await Promise.resolve();
          const { inUse, waiting } = shares.usage();
          assert.ok(inUse <= bounds.capacity && waiting <= 8);
          for (const each of ['a', 'b', 'c', 'd']) assert.ok(shares.heldBy(each) <= bounds.perTenant);
        }
        // Releasing everything lets all accepted callers through.
        for (let rounds = 0; rounds < 200 && (leases.length > 0 || waits.size > 0); rounds++) {
          leases.shift()?.release();
          await settled();
        }
        const left = shares.usage();
        assert.deepEqual([left.inUse, left.tenants, left.waiting], [0, 0, 0]);
      }),
      { numRuns: 200 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createBatches } from '../../src/database/batches.ts';
import type { Batches } from '../../src/database/batches.ts';
import { waitFor } from '@darkroom/testing/wait-for';

interface Desk {
  readonly batches: Batches<string>;
  /** The batches in the order in which they started: `account:items`. */
  readonly begun: string[];
  /** Ends the oldest batch under way. */
  end(): Promise<void>;
}

/** @param most how many fit into a batch. */
function openDesk(most = 100): Desk {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const batches = createBatches<string>({
    work: (accountId, items) => {
      begun.push(`${accountId}:${items.join('')}`);
      return new Promise((resolve) => ends.push(resolve));
    },
    fitting: (items) => Math.min(items.length, most),
  });
  return {
    batches,
    begun,
    async end() {
      ends.shift()?.();
      await nextTurn();
    },
  };
}

/** Longer than a test takes. */
const NEVER_MS = 2_000_000;

describe('a batch of work per account', () => {
  it('is sent immediately when none is in progress, and otherwise with the next one', async () => {
    const { batches, begun, end } = openDesk();

    for (const item of ['a', 'b', 'c']) batches.add('one', item);
    assert.deepEqual(begun, ['one:a']);
    await end();
    assert.deepEqual(begun, ['one:a', 'one:bc']);
    batches.add('one', 'd');
    await end();

    assert.deepEqual(begun, ['one:a', 'one:bc', 'one:d']);
  });

  it('never waits for another account', () => {
    const { batches, begun } = openDesk();

    batches.add('one', 'a');
    batches.add('two', 'b');

    assert.deepEqual(begun, ['one:a', 'two:b']);
  });

  it('is split when it exceeds the limit, in order', async () => {
    const { batches, begun, end } = openDesk(2);

    for (const item of ['a', 'b', 'c', 'd', 'e', 'f']) batches.add('one', item);
    for (let round = 0; round < 4; round++) await end();

    assert.deepEqual(begun, ['one:a', 'one:bc', 'one:de', 'one:f']);
  });
});

describe('deferred work', () => {
  it('is sent with the next work that has a waiter, before it', async () => {
    const { batches, begun, end } = openDesk();

    batches.addLater('one', 'x', NEVER_MS);
    batches.addLater('one', 'y', NEVER_MS);
    assert.deepEqual(begun, []);
    batches.add('one', 'a');
    batches.add('one', 'b');
    batches.addLater('one', 'z', NEVER_MS);
    await end();

    assert.deepEqual(begun, ['one:xya', 'one:zb']);
  });

  it('is sent by itself after its delay', async () => {
    const { batches, begun } = openDesk();

    batches.addLater('one', 'x', 1);
    await waitFor('it goes', () => begun.length > 0, 1);

    assert.deepEqual(begun, ['one:x']);
  });

  it('is never overtaken, although it exceeds the limit', async () => {
    const { batches, begun, end } = openDesk(2);

    for (const item of ['x', 'y', 'z']) batches.addLater('one', item, NEVER_MS);
    batches.add('one', 'a');
    for (let round = 0; round < 2; round++) await end();

    assert.deepEqual(begun, ['one:xy', 'one:za']);
  });

  it('is flushed on request, after the work in progress, and once', async () => {
    const { batches, begun, end } = openDesk();
    batches.add('one', 'a');
    batches.addLater('one', 'x', NEVER_MS);
    batches.addLater('two', 'y', NEVER_MS);

    const flushed = batches.flush();
    await nextTurn();
    assert.deepEqual(begun, ['one:a', 'two:y']);
    for (let round = 0; round < 3; round++) await end();
    await flushed;

    assert.deepEqual(begun, ['one:a', 'two:y', 'one:x']);
    await batches.flush();
    assert.equal(begun.length, 3);
  });

  it('is flushed completely when it exceeds one batch', async () => {
    const { batches, begun, end } = openDesk(2);
    for (const item of ['v', 'w', 'x', 'y', 'z']) batches.addLater('one', item, NEVER_MS);

    const flushed = batches.flush();
    await nextTurn();
    for (let round = 0; round < 3; round++) await end();
    await flushed;

    assert.deepEqual(begun, ['one:vw', 'one:xy', 'one:z']);
  });

  it('does not delay waiters when it is added again and again', async () => {
    const begun: string[] = [];
    const batches: Batches<string> = createBatches<string>({
      work: (accountId, items) => {
        begun.push(items.join(''));
        for (const item of items) if (item !== 'a') batches.addLater(accountId, item, NEVER_MS);
        return Promise.resolve();
      },
      fitting: (items) => Math.min(items.length, 2),
    });
    for (const item of ['x', 'y', 'z']) batches.addLater('one', item, NEVER_MS);

    batches.add('one', 'a');
    await nextTurn();

    assert.deepEqual(begun, ['xy', 'za']);
  });

  it('may be added again while it is being flushed, and waits then', async () => {
    const tried: string[] = [];
    const batches: Batches<string> = createBatches<string>({
      work: (accountId, items) => {
        tried.push(...items);
        for (const item of items) batches.addLater(accountId, item, NEVER_MS);
        return Promise.resolve();
      },
      fitting: (items) => items.length,
    });
    batches.addLater('one', 'x', NEVER_MS);

    await batches.flush();
    assert.deepEqual(tried, ['x']);
    await batches.flush();
    assert.deepEqual(tried, ['x', 'x']);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSharedLookup } from '../../src/egress/upstream-connector.ts';
import type { Lookup } from '../../src/egress/upstream-connector.ts';

type Asked = Parameters<Lookup>;

describe('the lookup of names that operators configured', () => {
  it('runs once per name, whatever number of requests waits for it', () => {
    const asked: Asked[] = [];
    const lookup = createSharedLookup((...args) => void asked.push(args));
    const answers: unknown[] = [];

    for (let count = 0; count < 20; count++) lookup('dead.test', { all: true }, (...answer) => answers.push(answer));
    lookup('other.test', { all: true }, (...answer) => answers.push(answer));

    assert.deepEqual(
      asked.map(([name]) => name),
      ['dead.test', 'other.test'],
    );
    const failure = new Error('EAI_AGAIN');
    asked[0]?.[2](failure, []);
    assert.deepEqual(
      answers,
      Array.from({ length: 20 }, () => [failure, []]),
    );

    // Nothing is cached: a later call queries again.
    lookup('dead.test', { all: true }, () => undefined);
    assert.equal(asked.length, 3);
  });

  it('is separate for different queries of the same name', () => {
    const asked: Asked[] = [];
    const lookup = createSharedLookup((...args) => void asked.push(args));

    for (const family of [4, 6, 0]) lookup('a.test', { family }, () => undefined);

    assert.equal(asked.length, 3);
  });
});

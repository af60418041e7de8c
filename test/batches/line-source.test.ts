/** Reading the lines of a batch in parts: one stream for those that follow each other, another one for a jump. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { createLineSource } from '../../src/batches/line-source.ts';
import type { InputLine } from '../../src/batches/input-lines.ts';

const CONTENT = Buffer.from(Array.from({ length: 100 }, (_, index) => `line ${index}`).join('\n'));
const INPUT = { inputObjectKey: 'files/one', inputBytes: CONTENT.length };
const START = { line: 0, byte: 0 };

/** A store that notes where each stream begins, and has all of them. */
function newStore(breakAt = Infinity) {
  const starts: number[] = [];
  const streams: Readable[] = [];
  return {
    starts,
    areClosed: () => streams.every(({ destroyed }) => destroyed),
    read(_: string, { start }: { start: number; end: number } = { start: 0, end: 0 }) {
      starts.push(start);
      const stream = Readable.from(piecesOf(start, breakAt));
      streams.push(stream);
      return Promise.resolve(stream);
    },
  };
}

function* piecesOf(start: number, breakAt: number): Generator<Buffer> {
  for (let at = start; at < CONTENT.length; at += 7) {
    if (at >= breakAt) throw new Error('the store is gone');
    yield CONTENT.subarray(at, at + 7);
  }
}

const NEVER = new AbortController().signal;
const readingOf = (store: ReturnType<typeof newStore>) => ({ store, nextTurn: () => Promise.resolve() });
const textsOf = (lines: readonly InputLine[]) => lines.map(({ bytes }) => bytes?.toString());
const after = (lines: readonly InputLine[]) => ({
  line: (lines.at(-1)?.index ?? -1) + 1,
  byte: lines.at(-1)?.endByte ?? 0,
});

describe('the source of a batch', () => {
  it('gives all lines in parts, from one stream', async () => {
    const store = newStore();
    const source = createLineSource(readingOf(store), INPUT, NEVER);
    const all: InputLine[] = [];
    for (let lines = await source.take(START, 8, 1_000); lines.length > 0;) {
      all.push(...lines);
      lines = await source.take(after(all), 8, 1_000);
    }
    await source.close();

    assert.deepEqual(textsOf(all), CONTENT.toString().split('\n'));
    assert.deepEqual(store.starts, [0]);
    assert.ok(store.areClosed());
  });

  it('reads from elsewhere where what was taken was not fed, or another process was faster', async () => {
    const store = newStore();
    const source = createLineSource(readingOf(store), INPUT, NEVER);
    const first = await source.take(START, 3, 1_000);
    const again = await source.take(after(first.slice(0, 1)), 2, 1_000);
    const later = await source.take({ line: 40, byte: CONTENT.indexOf('line 40') }, 1, 1_000);
    await source.close();

    assert.deepEqual(textsOf(again), ['line 1', 'line 2']);
    assert.deepEqual([textsOf(later), later[0]?.index], [['line 40'], 40]);
    assert.equal(store.starts.length, 3);
    assert.ok(store.areClosed());
  });

  it('ends a part at its size in bytes, after one line at least', async () => {
    const source = createLineSource(readingOf(newStore()), INPUT, NEVER);
    const lines = await source.take(START, 50, 13);
    const one = await source.take(after(lines), 50, 1);
    await source.close();

    assert.deepEqual([lines.length, one.length], [2, 1]);
  });

  it('begins anew after a stream that broke off', async () => {
    const store = newStore(70);
    const source = createLineSource(readingOf(store), INPUT, NEVER);
    const lines = await source.take(START, 5, 1_000);
    await assert.rejects(source.take(after(lines), 50, 1_000), /the store is gone/);
    await assert.rejects(source.take(after(lines), 50, 1_000), /the store is gone/);
    await source.close();

    assert.equal(store.starts.length, 2);
    assert.ok(store.areClosed());
  });
});

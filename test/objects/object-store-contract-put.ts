/**
 * The part of the object stores' contract that is about writing: atomic, bounded, abortable, with constant memory.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { beforeEach, describe, it } from 'node:test';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import {
  MIB,
  PNG,
  assertNothingAt,
  isTooLarge,
  keysBelow,
  liveBytes,
  readAll,
  sha256,
  slices,
} from './object-store-probe.ts';
import type { OpenedStore } from './object-store-probe.ts';

/** @param opened returns the store of the suite that this runs in, once the suite has opened it. */
export function describePut(opened: () => OpenedStore): void {
  describe('put', () => {
    let store: ObjectStore;
    beforeEach(() => {
      store = opened().store;
    });

    it('returns the bytes that were put, with their length and SHA-256', async () => {
      const bytes = randomBytes(100_000);

      const result = await store.put('tasks/one/1-1.png', bytes, PNG);

      assert.deepEqual(result, { sizeBytes: 100_000, sha256: sha256(bytes) });
      assert.deepEqual(await readAll(store, 'tasks/one/1-1.png'), bytes);
      assert.deepEqual(await store.head('tasks/one/1-1.png'), { key: 'tasks/one/1-1.png', sizeBytes: 100_000 });
    });

    it('does the same for a stream of any length: empty, short, several parts', async () => {
      for (const size of [0, 1, 70_000, 12 * MIB + 1]) {
        const bytes = randomBytes(size);

        const result = await store.put('stream', Readable.from(slices(bytes, 65_536)), PNG);

        assert.deepEqual(result, { sizeBytes: size, sha256: sha256(bytes) });
        assert.equal(sha256(await readAll(store, 'stream')), sha256(bytes));
      }
    });

    it('stores an empty object', async () => {
      await store.put('empty', new Uint8Array(0), PNG);

      assert.deepEqual(await store.head('empty'), { key: 'empty', sizeBytes: 0 });
      assert.equal((await readAll(store, 'empty')).length, 0);
    });

    it('replaces an object of the same key', async () => {
      await store.put('same', Buffer.from('the first and longer one'), PNG);
      await store.put('same', Buffer.from('the second'), PNG);

      assert.equal((await readAll(store, 'same')).toString(), 'the second');
    });

    it('stores one of several concurrent puts completely, and readers never see a mixture', async () => {
      const bodies = [...'abcdefgh'].map((letter) => Buffer.alloc(300_000, letter));
      const isWhole = (bytes: Buffer): boolean => bodies.some((body) => body.equals(bytes));
      await store.put('contended', Buffer.alloc(300_000, 'a'), PNG);

      const puts = bodies.map((body, index) =>
        store.put('contended', index % 2 ? body : Readable.from(slices(body, 50_000)), PNG),
      );
      const reads = Array.from({ length: 8 }, () => readAll(store, 'contended'));

      for (const bytes of await Promise.all(reads)) assert.ok(isWhole(bytes), 'a reader saw half an object');
      await Promise.all(puts);
      assert.ok(isWhole(await readAll(store, 'contended')));
    });

    it('stores objects while their last neighbour is deleted, again and again', async () => {
      const keys = Array.from({ length: 8 }, (_, index) => `crowd/of/${index}`);

      await Promise.all(
        keys.map(async (key) => {
          for (let round = 0; round < 15; round++) {
            await store.put(key, Buffer.from(key), PNG);
            await store.delete(key);
          }
          await store.put(key, Buffer.from(key), PNG);
        }),
      );

      assert.deepEqual(await keysBelow(store, 'crowd/'), keys);
    });

    it('rejects a body over maxBytes, and stores nothing of it', async () => {
      const bytes = randomBytes(7 * MIB);
      const bounds = { ...PNG, maxBytes: 6 * MIB };

      await assert.rejects(store.put('large', bytes, bounds), isTooLarge(6 * MIB));
      await assert.rejects(store.put('large', Readable.from(slices(bytes, 65_536)), bounds), isTooLarge(6 * MIB));

      await assertNothingAt(opened(), 'large');
    });

    it('accepts a body of exactly maxBytes', async () => {
      const bytes = randomBytes(1000);

      await store.put('bytes', bytes, { ...PNG, maxBytes: 1000 });
      await store.put('stream', Readable.from(slices(bytes, 300)), { ...PNG, maxBytes: 1000 });

      assert.deepEqual(await readAll(store, 'bytes'), bytes);
      assert.deepEqual(await readAll(store, 'stream'), bytes);
    });

    it('stops at an abort in the middle of a silent stream, stores nothing, and closes the source', async () => {
      const source = new PassThrough();
      const abort = new AbortController();
      const put = store.put('aborted', source, { ...PNG, signal: abort.signal });
      // More than a part of an upload and more than any buffer: when all of it is consumed, the store is in the
      // middle of writing.
      for (const slice of slices(randomBytes(7 * MIB), MIB)) {
        if (!source.write(slice)) await once(source, 'drain');
      }

      abort.abort(new Error('the task was cancelled'));

      await assert.rejects(put, /the task was cancelled/);
      assert.equal(source.destroyed, true);
      await assertNothingAt(opened(), 'aborted');
    });

    it('does nothing when it was aborted before', async () => {
      const signal = AbortSignal.abort();
      const source = Readable.from([Buffer.from('x')]);

      await assert.rejects(store.put('late', Buffer.from('x'), { ...PNG, signal }), { name: 'AbortError' });
      await assert.rejects(store.put('late', source, { ...PNG, signal }), { name: 'AbortError' });

      assert.equal(source.destroyed, true);
      await assertNothingAt(opened(), 'late');
    });

    it('passes on the error of a source that fails, stores nothing, and preserves the old object', async () => {
      const failure = Object.assign(new Error('connection reset'), { code: 'ECONNRESET', syscall: 'read' });
      await store.put('old', Buffer.from('old'), PNG);
      const failing = (): Readable =>
        Readable.from(
          (async function* () {
            yield* slices(randomBytes(6 * MIB), MIB);
            throw failure;
          })(),
        );

      await assert.rejects(store.put('new', failing(), PNG), (error) => error === failure);
      await assert.rejects(store.put('old', failing(), PNG), (error) => error === failure);

      await assertNothingAt(opened(), 'new');
      assert.equal((await readAll(store, 'old')).toString(), 'old');
    });

    it('survives a source that has failed already', async () => {
      const source = new PassThrough();
      const put = store.put('early', source, PNG);
      source.destroy(new Error('rejected'));

      await assert.rejects(put, /rejected/);

      await assertNothingAt(opened(), 'early');
    });

    it('uses constant memory while 64 MiB stream through it', async () => {
      const piece = randomBytes(MIB);
      const atStart = await liveBytes();
      let held = 0;
      const source = Readable.from(
        (async function* () {
          for (let count = 1; count <= 64; count++) {
            yield Buffer.from(piece);
            if (count % 8 === 0) held = Math.max(held, (await liveBytes()) - atStart);
          }
        })(),
        { highWaterMark: 1 },
      );

      const result = await store.put('long', source, PNG);

      assert.equal(result.sizeBytes, 64 * MIB);
      assert.ok(held < 32 * MIB, `held ${(held / MIB).toFixed(1)} MiB`);
    });
  });
}

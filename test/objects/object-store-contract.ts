/**
 * What every object store promises, as one suite that each implementation runs: on a real directory, on a real S3
 * server.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { ByteRange, ObjectStore } from '../../src/objects/stores/object-store.ts';
import { describePut } from './object-store-contract-put.ts';
import { MIB, PNG, collect, isNotFound, keysBelow, readAll, sha256 } from './object-store-probe.ts';
import type { OpenedStore } from './object-store-probe.ts';

const HOSTILE_KEYS = [
  '',
  '/',
  '/etc/passwd',
  '..',
  '../outside',
  'a/../../outside',
  'a/./b',
  'a//b',
  'a/',
  'a\\..\\b',
  'a\0b',
  'a b',
  'ä',
  'a\n',
  '~partial/x',
  '%2e%2e/x',
  'x'.repeat(513),
];

export function describeObjectStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(`${name} as an object store`, () => {
    let opened: OpenedStore;
    let store: ObjectStore;
    before(async () => {
      opened = await open();
      store = opened.store;
    });
    beforeEach(async () => {
      for await (const found of store.list('')) await store.delete(found.key);
    });
    after(async () => {
      await store.close();
      await opened.close();
    });

    describePut(() => opened);

    describe('read', () => {
      const bytes = randomBytes(1000);
      const ranges: { range: ByteRange; what: string }[] = [
        { range: { start: 0, end: 0 }, what: 'the first byte' },
        { range: { start: 999, end: 999 }, what: 'the last byte' },
        { range: { start: 10, end: 19 }, what: 'a middle' },
        { range: { start: 0, end: 999 }, what: 'all' },
        { range: { start: 990, end: 5000 }, what: 'the end, where it asks for more' },
      ];
      for (const { range, what } of ranges) {
        it(`returns ${what} for ${range.start}-${range.end}`, async () => {
          await store.put('thousand', bytes, PNG);

          assert.deepEqual(await readAll(store, 'thousand', range), bytes.subarray(range.start, range.end + 1));
        });
      }

      it('rejects a range that begins beyond the object, or is invalid', async () => {
        await store.put('thousand', bytes, PNG);

        await assert.rejects(store.read('thousand', { start: 1000, end: 1001 }), RangeError);
        await assert.rejects(store.read('thousand', { start: 5, end: 4 }), RangeError);
        await assert.rejects(store.read('thousand', { start: -1, end: 4 }), RangeError);
        await assert.rejects(store.read('thousand', { start: 0.5, end: 4 }), RangeError);
      });

      it('finishes although the object is deleted or replaced meanwhile', async () => {
        const long = randomBytes(12 * MIB);
        await store.put('deleted', long, PNG);
        await store.put('replaced', long, PNG);

        for (const key of ['deleted', 'replaced']) {
          const reader = await store.read(key);
          await once(reader, 'readable');
          if (key === 'deleted') await store.delete(key);
          else await store.put(key, Buffer.from('other'), PNG);
          assert.equal(sha256(await collect(reader)), sha256(long));
        }
      });

      it('reports a missing object, by head and by read', async () => {
        await store.put('directory/object', bytes, PNG);

        for (const key of ['missing', 'directory', 'directory/object/below']) {
          await assert.rejects(store.head(key), isNotFound(key));
          await assert.rejects(store.read(key), isNotFound(key));
          await assert.rejects(store.read(key, { start: 0, end: 1 }), isNotFound(key));
        }
      });
    });

    describe('delete', () => {
      it('removes the object and no other', async () => {
        await store.put('a/b', Buffer.from('1'), PNG);
        await store.put('a/bc', Buffer.from('2'), PNG);

        await store.delete('a/b');

        assert.deepEqual(await keysBelow(store, ''), ['a/bc']);
      });

      it('succeeds when there is nothing to delete', async () => {
        await store.put('directory/object', Buffer.from('1'), PNG);

        for (const key of ['missing', 'no/such/directory', 'directory']) await store.delete(key);

        assert.deepEqual(await keysBelow(store, ''), ['directory/object']);
      });
    });

    describe('list', () => {
      it('finds exactly the keys that begin with the prefix, with size and time', async () => {
        const keys = ['a/1', 'a/2', 'ab/3', 'b/a/4', 'c'];
        for (const key of keys) await store.put(key, Buffer.from(key), PNG);

        assert.deepEqual(await keysBelow(store, ''), keys);
        assert.deepEqual(await keysBelow(store, 'a'), ['a/1', 'a/2', 'ab/3']);
        assert.deepEqual(await keysBelow(store, 'a/'), ['a/1', 'a/2']);
        assert.deepEqual(await keysBelow(store, 'b/a/4'), ['b/a/4']);
        assert.deepEqual(await keysBelow(store, 'b/a/4/5'), []);
        assert.deepEqual(await keysBelow(store, 'z/z/z'), []);
        for await (const found of store.list('c')) {
          assert.equal(found.sizeBytes, 1);
          assert.ok(Math.abs(found.modifiedAt.getTime() - Date.now()) < 600_000);
        }
      });

      it('rejects a prefix that no key begins with', async () => {
        for (const prefix of ['../', '/', 'a//', 'a/../', '~', './', 'a b']) {
          await assert.rejects(store.list(prefix)[Symbol.asyncIterator]().next(), TypeError);
        }
      });
    });

    it('rejects every hostile key in every operation', async () => {
      for (const key of HOSTILE_KEYS) {
        const source = Readable.from([Buffer.from('x')]);
        await assert.rejects(store.put(key, Buffer.from('x'), PNG), TypeError, `put ${JSON.stringify(key)}`);
        await assert.rejects(store.put(key, source, PNG), TypeError);
        assert.equal(source.destroyed, true);
        await assert.rejects(store.head(key), TypeError);
        await assert.rejects(store.read(key), TypeError);
        await assert.rejects(store.delete(key), TypeError);
      }
      assert.equal(await opened.unfinished(), 0);
    });

    it('accepts every key that the rule allows', async () => {
      const keys = ['.hidden/..x', '...', `${'d'.repeat(200)}/${'e'.repeat(200)}/${'f'.repeat(110)}`, 'A-Z_a-z.0-9'];
      for (const key of keys) await store.put(key, Buffer.from(key), PNG);

      for (const key of keys) assert.equal((await readAll(store, key)).toString(), key);
      assert.deepEqual(await keysBelow(store, ''), keys.toSorted());
    });

    it('checks itself without leaving anything', async () => {
      await store.check();

      assert.deepEqual(await keysBelow(store, ''), []);
      assert.equal(await opened.unfinished(), 0);
    });
  });
}

/** The store of a process that starts while its store or its database is away. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { waitFor } from '@darkroom/testing/wait-for';
import { DatabaseUnavailableError } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import {
  ForeignStoreError,
  claimStore,
  createClaimedStore,
  markStore,
  readOwner,
} from '../../src/objects/stores/claimed-store.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { temporaryDirectory } from '../standalone/fixtures/supervised.ts';
import { Role } from '../support/darkroom.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const TEXT = { mimeType: 'text/plain' };

describe('the store of a process that starts on a bad day', () => {
  let testDatabase: TestDatabase;
  let inner: ObjectStore;
  let attempts: number;
  let isStoreAway: boolean;
  let isDatabaseAway: boolean;
  let database: Database;
  let store: ObjectStore;
  before(async () => {
    testDatabase = await createTestDatabase();
    const answering = testDatabase.database;
    database = {
      ...answering,
      query: (...query) =>
        isDatabaseAway ? Promise.reject(new DatabaseUnavailableError('no answer')) : answering.query(...query),
    };
  });
  beforeEach(async () => {
    inner = createDiskStore(path.join(await temporaryDirectory(), 'store'));
    [attempts, isStoreAway, isDatabaseAway] = [0, false, false];
    store = {
      put: (...put) => inner.put(...put),
      head: (key) => inner.head(key),
      delete: (key) => inner.delete(key),
      list: (prefix) => inner.list(prefix),
      check: () => inner.check(),
      close: () => inner.close(),
      read(key) {
        attempts += 1;
        if (isStoreAway) return Promise.reject(new StoreUnavailableError('read', { cause: new Error('no answer') }));
        return inner.read(key);
      },
    };
    await answeringStore();
  });
  after(() => testDatabase.close());

  /** The installation has this store, which is marked. */
  async function answeringStore(): Promise<void> {
    await testDatabase.database.query({
      name: 'test_forget_store',
      text: 'UPDATE installation SET store_marked_at = NULL',
    });
    await claimStore(testDatabase.database, inner);
  }

  function started(): ReturnType<typeof createClaimedStore> {
    const claimed = createClaimedStore({ database, store, logger: silentLogger(), retryMs: 10 });
    claimed.claim.start();
    return claimed;
  }

  async function keys(): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const { key } of inner.list('')) found.push(key);
    return found;
  }

  it('is open at once where both answer', async () => {
    const { store: own, claim } = started();
    await claim.waitForFirstAttempt();

    assert.equal(claim.isConfirmed(), true);
    await own.put('a', Readable.from([Buffer.from('bytes')]), TEXT);
    assert.equal(await text(await own.read('a')), 'bytes');
    assert.equal((await own.head('a')).sizeBytes, 5);
    await own.check();
    await own.delete('a');
    assert.deepEqual(await keys(), ['installation']);
    claim.close();
  });

  for (const dependency of ['store', 'database'] as const) {
    it(`is closed until the ${dependency} answers, and opens by itself then`, async () => {
      const set = (isAway: boolean): void => {
        if (dependency === 'store') isStoreAway = isAway;
        else isDatabaseAway = isAway;
      };
      set(true);
      const { store: own, claim } = started();
      await claim.waitForFirstAttempt();

      assert.equal(claim.isConfirmed(), false);
      const body = Readable.from([Buffer.from('bytes')]);
      await assert.rejects(own.put('a', body, TEXT), StoreUnavailableError);
      assert.equal(body.destroyed, true);
      await assert.rejects(own.put('a', Buffer.from('bytes'), TEXT), StoreUnavailableError);
      await assert.rejects(own.head('a'), StoreUnavailableError);
      await assert.rejects(own.read('a'), StoreUnavailableError);
      await assert.rejects(own.delete('a'), StoreUnavailableError);
      await assert.rejects(own.check(), StoreUnavailableError);
      await assert.rejects(own.list('')[Symbol.asyncIterator]().next(), StoreUnavailableError);
      assert.deepEqual(await keys(), ['installation']);

      set(false);
      await waitFor('it is open', () => claim.isConfirmed());
      await own.put('a', Buffer.from('bytes'), TEXT);
      assert.deepEqual((await keys()).toSorted(), ['a', 'installation']);
      claim.close();
    });
  }

  it('never opens if it turns out to be that of another installation, and this is reported', async () => {
    isStoreAway = true;
    await markStore(inner, 'inst_of_somebody_else');
    const { store: own, claim } = started();
    await waitFor('it was asked again', () => attempts > 1);

    isStoreAway = false;

    await assert.rejects(claim.foreign, ForeignStoreError);
    await assert.rejects(claim.waitForFirstAttempt(), ForeignStoreError);
    assert.equal(claim.isConfirmed(), false);
    await assert.rejects(own.put('a', Buffer.from('bytes'), TEXT), StoreUnavailableError);
    assert.deepEqual(await keys(), ['installation']);
  });

  it('is not asked again once the process stops', async () => {
    isStoreAway = true;
    const { claim } = started();
    await claim.waitForFirstAttempt();

    claim.close();
    isStoreAway = false;
    const { claim: later } = started();
    await waitFor('a later one is open', () => later.isConfirmed());

    assert.equal(claim.isConfirmed(), false);
    later.close();
    assert.equal(await readInstallationId(testDatabase.database), await text(await inner.read('installation')));
  });
});

/** A store is marked once as that of its installation, and no process works with another one. */
describe('the store of an installation', () => {
  let testDatabase: TestDatabase;
  let installationId: string;
  before(async () => {
    testDatabase = await createTestDatabase();
    installationId = await readInstallationId(testDatabase.database);
  });
  after(() => testDatabase.close());

  async function newDirectory(): Promise<string> {
    return path.join(await temporaryDirectory(), 'store');
  }

  async function newStore(): Promise<ObjectStore> {
    return createDiskStore(await newDirectory());
  }

  async function forget(): Promise<void> {
    const text = 'UPDATE installation SET store_marked_at = NULL';
    await testDatabase.database.query({ name: 'test_forget_store', text });
  }

  it('is marked by the first process, and known to all others', async () => {
    await forget();
    const store = await newStore();

    await Promise.all(Array.from({ length: 8 }, () => claimStore(testDatabase.database, store)));

    assert.equal(await readOwner(store), installationId);
    await claimStore(testDatabase.database, store);
  });

  it('is one of two that processes are given at the same moment', async () => {
    await forget();
    const stores = [await newStore(), await newStore()];

    const results = await Promise.allSettled(stores.map((store) => claimStore(testDatabase.database, store)));

    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    const refused = results.find((result) => result.status === 'rejected');
    assert.ok(refused?.reason instanceof ForeignStoreError);
    const owners = await Promise.all(stores.map(readOwner));
    assert.deepEqual(new Set(owners), new Set([installationId, undefined]));
  });

  it('is not one without its mark, once there is one', async () => {
    await forget();
    await claimStore(testDatabase.database, await newStore());
    const other = await newStore();

    await assert.rejects(claimStore(testDatabase.database, other), (error: Error) => {
      assert.match(error.message, /without the mark of this installation/);
      // Somebody whose `STORE_URL` is an old one reads it too, and a mark would keep them there.
      assert.match(error.message, /objects that were moved are found where they are now\. Only if the store is lost/);
      return true;
    });
    assert.equal(await readOwner(other), undefined);

    await markStore(other, installationId);
    await claimStore(testDatabase.database, other);
  });

  it('is not that of another installation', async () => {
    await forget();
    const store = await newStore();
    await markStore(store, 'inst_of_somebody_else');

    await assert.rejects(
      claimStore(testDatabase.database, store),
      /the store of the installation inst_of_somebody_else/,
    );

    assert.equal(await readOwner(store), 'inst_of_somebody_else');
  });

  it('is not remembered as marked where the mark could not be written', async () => {
    await forget();
    const store = await newStore();
    const full: Pick<ObjectStore, 'read' | 'put'> = {
      read: (key) => store.read(key),
      put: () => Promise.reject(new Error('the disk is full')),
    };

    await assert.rejects(claimStore(testDatabase.database, full), /the disk is full/);

    await claimStore(testDatabase.database, await newStore());
  });

  for (const role of ['api', 'worker'] as const) {
    it(`is the only one that the ${role} starts with`, async () => {
      await forget();
      await claimStore(testDatabase.database, await newStore());
      const directory = await newDirectory();
      const environment = {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        ...testDatabase.environment,
        TEMPORAL_ADDRESS: process.env['DARKROOM_TEST_TEMPORAL_ADDRESS'],
        TEMPORAL_NAMESPACE: 'default',
        STORE_URL: pathToFileURL(directory).href,
        URL_SIGNING_KEY: randomBytes(24).toString('hex'),
        ENCRYPTION_KEY: randomBytes(24).toString('hex'),
        PORT: '0',
        PUBLIC_URL: 'http://127.0.0.1',
      };

      const started = new Role(role, environment, path.join(path.dirname(directory), 'log')).start();

      await assert.rejects(started, new RegExp(`the ${role} ended with 78:[^]*without the mark of this installation`));
    });
  }
});

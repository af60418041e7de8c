/** A store is marked once as that of its installation, and no process works with another one. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readInstallationId } from '../../src/database/migrate.ts';
import { ForeignStoreError, claimStore } from '../../src/objects/stores/claim-store.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { markStore, readOwner } from '../../src/objects/stores/store-owner.ts';
import { temporaryDirectory } from '../standalone/fixtures/supervised.ts';
import { Role } from '../support/darkroom.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

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

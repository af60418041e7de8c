/**
 * A process works with the store of its installation only. One that is given another, such as a directory of its own on
 * a second machine, would store outputs where no other process finds them, and their owners would pay for nothing. The
 * first process marks the store (store-owner.ts), and the database remembers that there is a marked one.
 */
import type { Database, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import type { ObjectStore } from './object-store.ts';
import { describeForeignOwner, markStore, readOwner } from './store-owner.ts';

/** `STORE_URL` names a store that is not this installation's. */
export class ForeignStoreError extends DarkroomError {
  override readonly name = 'ForeignStoreError';
  override readonly kind = 'configuration_invalid';
}

const selectMark: Statement = {
  name: 'select_store_mark',
  text: 'SELECT id, store_marked_at IS NOT NULL AS "isMarked" FROM installation',
};

/** Waits for another process that does the same: its store is marked then. */
const recordMark: Statement = {
  name: 'record_store_mark',
  text: 'UPDATE installation SET store_marked_at = now() WHERE store_marked_at IS NULL RETURNING id',
};

/**
 * Marks the store, if the installation has none yet.
 *
 * @throws {ForeignStoreError} it is the store of another installation, or none while this one has another store.
 * @throws {StoreUnavailableError} @throws {DatabaseUnavailableError} nothing is known.
 */
export async function claimStore(database: Database, store: Pick<ObjectStore, 'read' | 'put'>): Promise<void> {
  const [row] = await database.query<{ id: string; isMarked: boolean }>(selectMark);
  if (row === undefined) throw new Error('the database was never migrated');
  const { id, isMarked } = row;
  // After it: a store whose mark is remembered has it.
  const owner = await readOwner(store);
  if (owner !== undefined && owner !== id) {
    throw new ForeignStoreError(describeForeignOwner(owner, id));
  }
  if (isMarked && owner === undefined) {
    throw new ForeignStoreError(
      'STORE_URL names a store without the mark of this installation, which has another one. Set it to the store that ' +
        'all its processes use: a directory of one machine cannot be that of another, and objects that were moved are ' +
        'found where they are now. Only if the store is lost, and this one is to take its place, run ' +
        '`admin outputs adopt-store`',
    );
  }
  if (isMarked) return;
  const isFirst = await database.transaction(async (transaction) => {
    const recorded = await transaction.query(recordMark);
    // Before the commit: the database never remembers a mark that is not there.
    if (recorded.length > 0 && owner === undefined) await markStore(store, id);
    return recorded.length > 0;
  });
  // Another process was first, perhaps with another store.
  if (!isFirst) await claimStore(database, store);
}

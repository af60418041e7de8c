/**
 * Which installation owns a store. Objects that no record names are deleted after a day, and two installations on one
 * store would each take the other's for such: so a store belongs to the installation that wrote its name there first
 * (claim-store.ts).
 */
import { text } from 'node:stream/consumers';
import { ObjectNotFoundError } from './object-store.ts';
import type { ObjectStore } from './object-store.ts';

const OWNER_KEY = 'installation';

/** Names the owner of a store. @param installationId of the database. */
export async function markStore(store: Pick<ObjectStore, 'put'>, installationId: string): Promise<void> {
  await store.put(OWNER_KEY, Buffer.from(installationId), { mimeType: 'text/plain' });
}

/** @returns the installation that owns the store; undefined: none. */
export async function readOwner(store: Pick<ObjectStore, 'read'>): Promise<string | undefined> {
  try {
    return (await text(await store.read(OWNER_KEY))).trim();
  } catch (error) {
    if (error instanceof ObjectNotFoundError) return undefined;
    throw error;
  }
}

/** What is wrong where the owner of a store is another installation than the database's. */
export function describeForeignOwner(owner: string, installationId: string): string {
  return `STORE_URL names the store of the installation ${owner}, and the database is that of ${installationId}`;
}

/**
 * Reads one small thing from the store, and writes nothing: a store that is full can still be emptied.
 *
 * @throws {StoreUnavailableError} it does not respond.
 */
export async function assertAnswers(store: ObjectStore): Promise<void> {
  try {
    await store.head(OWNER_KEY);
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
  }
}

/**
 * Whose store it is. Objects that no record names are deleted after a day, and two installations on one store would each
 * take the other's for such: so a store belongs to the installation that wrote its name there first.
 */
import { text } from 'node:stream/consumers';
import { ObjectNotFoundError } from './object-store.ts';
import type { ObjectStore } from './object-store.ts';

const OWNER_KEY = 'installation';

/**
 * Whether the store is this installation's; one that is nobody's becomes it.
 *
 * @param installationId of the database.
 */
export async function ownsStore(store: ObjectStore, installationId: string): Promise<boolean> {
  const owner = await readOwner(store);
  if (owner !== undefined) return owner === installationId;
  await store.put(OWNER_KEY, Buffer.from(installationId), { mimeType: 'text/plain' });
  // Two that claim it at the same moment both read what was written last.
  return (await readOwner(store)) === installationId;
}

async function readOwner(store: ObjectStore): Promise<string | undefined> {
  try {
    return (await text(await store.read(OWNER_KEY))).trim();
  } catch (error) {
    if (error instanceof ObjectNotFoundError) return undefined;
    throw error;
  }
}

/**
 * Asks the store for one small thing, and writes nothing: a store that is full can still be emptied.
 *
 * @throws {StoreUnavailableError} it does not answer.
 */
export async function assertAnswers(store: ObjectStore): Promise<void> {
  try {
    await store.head(OWNER_KEY);
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
  }
}

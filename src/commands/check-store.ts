/** A process that is given the store of another installation, or none, does not start. */
import { ForeignStoreError, claimStore } from '../objects/stores/claim-store.ts';
import type { Foundation } from '../processes/foundation.ts';

/**
 * Makes sure that the store is that of the installation. A store or a database that does not respond prevents no start.
 *
 * @throws {ForeignStoreError}
 */
export async function checkStore({
  database,
  store,
  logger,
}: Pick<Foundation, 'database' | 'logger'> & {
  readonly store: Pick<Foundation['store'], 'read' | 'put'>;
}): Promise<void> {
  try {
    await claimStore(database, store);
  } catch (err) {
    if (err instanceof ForeignStoreError) throw err;
    logger.warn({ err }, 'whether the store is that of this installation is not known');
  }
}

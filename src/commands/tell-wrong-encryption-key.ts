/** A process whose `ENCRYPTION_KEY` opens nothing of what is stored says so when it starts, not only when a callback waits. */
import type { Foundation } from '../processes/foundation.ts';

/** It starts all the same: where the key is lost, the accounts have to be able to set new ones. */
export async function tellWrongEncryptionKey({ webhookKeys, database, logger }: Foundation): Promise<void> {
  await webhookKeys.requireKeyOf(database).catch((err: unknown) => {
    logger.error({ err }, 'the signing keys that are stored cannot be used: see docs/operations.md, What to back up');
  });
}

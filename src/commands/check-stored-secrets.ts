/** A process reports at its start which stored secrets it cannot decrypt, and not only when a callback needs one. */
import type { Foundation } from '../processes/foundation.ts';

/**
 * Logs whether all stored secrets can be decrypted. The process starts in any case: if a key is lost, the accounts must
 * be able to set new secrets.
 */
export async function checkStoredSecrets({ webhookKeys, database, logger }: Foundation): Promise<void> {
  try {
    const { undecryptable, total, undecryptableAccounts, undecryptableUpstreams, fallback } =
      await webhookKeys.countByKey(database);
    if (undecryptable > 0) {
      logger.error(
        { undecryptable, of: total, accounts: undecryptableAccounts, upstreams: undecryptableUpstreams },
        'stored secrets can be decrypted neither by ENCRYPTION_KEY nor by ENCRYPTION_KEY_FALLBACKS: ' +
          'see docs/operations/secure.md, "Rotating the keys"',
      );
    }
    if (fallback > 0) {
      logger.info({ fallback, of: total }, 'stored secrets still need ENCRYPTION_KEY_FALLBACKS');
    }
  } catch (err) {
    logger.warn({ err }, 'checking the stored secrets failed');
  }
}

/** A process that needs PostgreSQL at once waits for it, as for Temporal, instead of exiting. */
import pRetry from 'p-retry';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';

/** Retries every second, for as long as necessary. */
const RETRIES = { retries: Number.POSITIVE_INFINITY, factor: 1, minTimeout: 1_000 };

/**
 * @param signal ends the wait.
 * @returns whether the database answers; false: the signal fired first.
 * @throws PostgreSQL's error when it rejects the connection, or that it is not reached as the settings say: waiting
 *   does not help against a wrong password.
 */
export async function waitForDatabase(database: Database, logger: Logger, signal: AbortSignal): Promise<boolean> {
  try {
    await pRetry(
      async (attempt) => {
        await database.verify();
        if (attempt > 1) logger.info('PostgreSQL is available');
      },
      {
        ...RETRIES,
        signal,
        shouldRetry: ({ error }) => error instanceof DatabaseUnavailableError,
        onFailedAttempt({ error, attemptNumber }) {
          if (attemptNumber === 1 && error instanceof DatabaseUnavailableError) {
            logger.warn({ err: error }, 'waiting for PostgreSQL');
          }
        },
      },
    );
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

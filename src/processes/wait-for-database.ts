/** A process that needs PostgreSQL to start waits for it, as for Temporal, instead of exiting. */
import pRetry from 'p-retry';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';

/** Retries every second, for as long as necessary. */
const RETRIES = { retries: Number.POSITIVE_INFINITY, factor: 1, minTimeout: 1_000 };

/** Runs a step of a start, again after each time that the database was unavailable. */
export type DatabaseWait = <T>(step: () => Promise<T>) => Promise<T>;

/**
 * @param signal ends the wait.
 * @returns runs steps that need the database and leave nothing behind when they fail. It throws the signal's reason
 *   once the signal has fired, and PostgreSQL's error when it rejects the connection, or that it is not reached as the
 *   settings say: waiting does not help against a wrong password.
 */
export function createDatabaseWait(logger: Logger, signal: AbortSignal): DatabaseWait {
  let isWaiting = false;
  return (step) =>
    pRetry(
      async () => {
        const result = await step();
        if (isWaiting) logger.info('PostgreSQL is available');
        isWaiting = false;
        return result;
      },
      {
        ...RETRIES,
        signal,
        shouldRetry: ({ error }) => error instanceof DatabaseUnavailableError,
        onFailedAttempt({ error }) {
          if (isWaiting || !(error instanceof DatabaseUnavailableError)) return;
          isWaiting = true;
          logger.warn({ err: error }, 'waiting for PostgreSQL');
        },
      },
    ).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
}

/** A process that needs PostgreSQL at once waits for it, as for Temporal, instead of exiting. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';

const RETRY_MS = 1_000;

/**
 * @param signal ends the wait.
 * @returns whether the database answers; false: the signal fired first.
 * @throws PostgreSQL's error when it rejects the connection: waiting does not help against a wrong password.
 */
export async function untilDatabaseAnswers(database: Database, logger: Logger, signal: AbortSignal): Promise<boolean> {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await database.check();
      if (attempt > 1) logger.info('PostgreSQL answers');
      return true;
    } catch (err) {
      if (!(err instanceof DatabaseUnavailableError)) throw err;
      if (attempt === 1) logger.warn({ err }, 'waiting for PostgreSQL');
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return false;
}

/** A process that needs PostgreSQL at once waits for it, as it does for Temporal, instead of ending. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';

const RETRY_MS = 1_000;

/**
 * @param signal ends the waiting.
 * @returns whether it answers; false: the signal came first.
 * @throws what PostgreSQL says of a connection that it refuses: a wrong password does not mend itself.
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

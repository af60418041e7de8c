/**
 * What all passes use: the database, with a short timeout on locked rows, and the isolation that then continues with
 * the next item (src/database/failing-items.ts).
 */
import type { Database } from '../database/database.ts';
import { createIsolation } from '../database/failing-items.ts';
import type { Isolation } from '../database/failing-items.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { AccountDatabase } from './row-databases.ts';

export interface PassTools {
  readonly database: Database;
  /**
   * For statements that lock the row of one account: while they wait, they do not take all connections of the process.
   */
  readonly accountDatabase: AccountDatabase;
  /** Isolates items from each other. */
  readonly isolate: Isolation;
}

/** What a process has for them. */
export interface PassDependencies extends Pick<PassTools, 'database' | 'accountDatabase'> {
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'passes'>;
}

/** @param signal ends the pass. */
export function passTools(dependencies: PassDependencies, signal: AbortSignal): PassTools {
  const { database, accountDatabase, logger, metrics } = dependencies;
  return { database, accountDatabase, isolate: createIsolation({ database, logger, metrics: metrics.passes, signal }) };
}

/**
 * What all passes use: the database, with a short timeout on locked rows, and the isolation that then continues with
 * the next item (src/database/failing-items.ts).
 */
import type { Database } from '../src/database/database.ts';
import { createIsolation } from '../src/database/failing-items.ts';
import type { Isolation } from '../src/database/failing-items.ts';
import type { AccountDatabase } from '../src/limits/account-database.ts';
import type { ActivityContext } from './context.ts';

export interface PassTools {
  readonly database: Database;
  /**
   * For statements that lock the row of one account: while they wait, they do not take all connections of the process.
   */
  readonly accountDatabase: AccountDatabase;
  /** Isolates items from each other. */
  readonly isolate: Isolation;
}

/** @param signal ends the pass. */
export function passTools(context: ActivityContext, signal: AbortSignal): PassTools {
  const { database, accountDatabase, logger, metrics } = context;
  return { database, accountDatabase, isolate: createIsolation({ database, logger, metrics: metrics.passes, signal }) };
}

/**
 * What all passes work with: the database, which gives up on a locked row soon, and the isolation that goes on with the
 * next item then (src/database/failing-items.ts).
 */
import type { Database } from '../src/database/database.ts';
import { createIsolation } from '../src/database/failing-items.ts';
import type { Isolation } from '../src/database/failing-items.ts';
import type { AccountDatabase } from '../src/limits/account-database.ts';
import type { ActivityContext } from './context.ts';

export interface PassTools {
  readonly database: Database;
  /** For what locks the row of one account: its items do not take all connections of the process while they wait. */
  readonly accountDatabase: AccountDatabase;
  /** Keeps items apart. */
  readonly isolate: Isolation;
}

/** @param signal ends the pass. */
export function passTools(context: ActivityContext, signal: AbortSignal): PassTools {
  const { database, accountDatabase, logger, metrics } = context;
  return { database, accountDatabase, isolate: createIsolation({ database, logger, metrics: metrics.passes, signal }) };
}

/**
 * What all passes work with: a database that gives up on a locked row soon, and the isolation that goes on with the next
 * item then (src/database/failing-items.ts).
 */
import type { Database } from '../src/database/database.ts';
import { createIsolation } from '../src/database/failing-items.ts';
import type { Isolation } from '../src/database/failing-items.ts';
import { withLockTimeout } from '../src/database/lock-timeout.ts';
import type { AccountDatabase } from '../src/limits/account-database.ts';
import type { ActivityContext } from './context.ts';

/** Longer than the transactions of a busy account keep its row, one after the other; each item of a pass may wait so long. */
const LOCK_TIMEOUT_MS = 2_000;

export interface PassTools {
  readonly database: Database;
  /** For what locks the row of one account: its items do not take all connections of the process while they wait. */
  readonly accountDatabase: AccountDatabase;
  /** Keeps items apart. */
  readonly isolate: Isolation;
}

/** @param signal ends the pass. */
export function passTools(context: ActivityContext, signal: AbortSignal): PassTools {
  const { logger, metrics } = context;
  const database = withLockTimeout(context.database, LOCK_TIMEOUT_MS);
  return {
    database,
    accountDatabase: (accountId) => withLockTimeout(context.accountDatabase(accountId), LOCK_TIMEOUT_MS),
    isolate: createIsolation({ database, logger, metrics: metrics.passes, signal }),
  };
}

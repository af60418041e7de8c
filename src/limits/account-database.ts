/**
 * An account's share of a process's connections to the database. Every transaction that moves an account's money or
 * slots waits for its one row of counters, and holds a connection while it waits (row-databases.ts).
 */
import { timeOutMs } from '../config/time-outs.ts';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Database, Statement } from '../database/database.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { createRowDatabase } from './row-databases.ts';
import type { RowWaiting } from './row-databases.ts';
import { createStalledRows } from './stalled-rows.ts';
import type { StalledRows } from './stalled-rows.ts';

/**
 * The database for transactions that lock the row of one account. Not to be used inside a transaction: it would wait
 * for a connection.
 */
export type AccountDatabase = (accountId: string) => Database;

/**
 * The account's row stays locked, or as many of its transactions are in progress, or wait, as may. Nothing was done.
 */
export class AccountBusyError extends DatabaseUnavailableError {
  override readonly name = 'AccountBusyError';
}

/** The kind of caller, and so how many of an account may wait for a connection, and for how long. */
export interface AccountWaiting extends RowWaiting {
  readonly waitMs: number;
}

/** The queue limits of API requests. A client gets a `Retry-After` before it gives up by itself. */
export const REQUESTS_WAIT: AccountWaiting = { perTenant: 1_000, perProcess: 10_000, waitMs: timeOutMs(5_000) };

/**
 * Activities: each occupies a slot of the worker that others need, of 40 for workflow tasks and as many for short
 * activities. A few wait for a moment, which a busy account needs; the others retry.
 */
export const ACTIVITIES_WAIT: AccountWaiting = { perTenant: 16, perProcess: 1_000, waitMs: timeOutMs(500) };

/**
 * The other connections are for work that locks no account (sign-in, reads and claims of the outbox), and for
 * upstreams (upstream-database.ts).
 */
const SHARE_OF_POOL = 0.6;

/** The others that share the wallet of an account, whose row they lock too (docs/decisions/0051). */
const selectOfSameWallet: Statement = {
  name: 'select_accounts_of_same_wallet',
  text: `WITH wallet AS (
           SELECT coalesce(wallet_id, account_id) AS id FROM account_counters WHERE account_id = $1)
         SELECT c.account_id AS "accountId" FROM wallet w JOIN account_counters c ON c.wallet_id = w.id
          WHERE c.account_id <> $1
          UNION ALL
         SELECT id FROM wallet WHERE id <> $1`,
};

/**
 * @param poolSize connections of the process.
 * @param stalled the accounts whose rows stay locked, for other code that waits for such rows.
 */
export function createAccountDatabase(
  database: Database,
  poolSize: number,
  { waitMs, ...waiting }: AccountWaiting,
  metrics?: ShareMetrics,
  stalled: StalledRows = createStalledRows(),
): AccountDatabase {
  const databaseOf = createRowDatabase({
    database,
    resource: 'account_transactions',
    connections: Math.max(1, Math.floor(poolSize * SHARE_OF_POOL)),
    waiting,
    stalled,
    async stalledWith(accountId) {
      const others = await database.query<{ accountId: string }>(selectOfSameWallet, [accountId]);
      return others.map((other) => other.accountId);
    },
    busy: (options) => new AccountBusyError('the transactions of this account wait for one another', options),
    metrics,
  });
  return (accountId) => databaseOf(accountId, { waitMs });
}

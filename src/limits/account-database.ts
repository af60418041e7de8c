/**
 * An account's share of a process's connections to the database. Whatever moves an account's money or slots waits for its
 * one row of counters, and holds a connection while it waits. Where somebody else keeps that row locked, a process that
 * stopped in the middle of a transaction, all that the account asks for would wait in the end with all connections of the
 * pool. An account therefore has at most as many such transactions under way as it leaves connections free.
 */
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Database } from '../database/database.ts';
import type { ShareMetrics } from '../telemetry/metrics-shares.ts';
import { createTenantShares } from './tenant-shares.ts';

/** The database for what locks the row of one account. Never inside a transaction: it would wait for a connection. */
export type AccountDatabase = (accountId: string) => Database;

/** The transactions of this account that are under way, or wait, are as many as it may have. Nothing was done. */
export class AccountBusyError extends DatabaseUnavailableError {
  override readonly name = 'AccountBusyError';
}

/** Who asks, and so how many of an account may wait for a connection, and for how long. */
export interface AccountWaiting {
  readonly perTenant: number;
  readonly perProcess: number;
  readonly waitMs: number;
}

/** Requests: as long as they would wait for a connection (database.ts). */
export const REQUESTS_WAIT: AccountWaiting = { perTenant: 1_000, perProcess: 10_000, waitMs: 5_000 };

/**
 * Activities: each keeps a slot of the worker that others need, of 40 for workflow tasks and as many for short
 * activities. A few wait for a moment, which a busy account needs; the others come again.
 */
export const ACTIVITIES_WAIT: AccountWaiting = { perTenant: 16, perProcess: 1_000, waitMs: 500 };

/** @param poolSize connections of the process. */
export function createAccountDatabase(
  database: Database,
  poolSize: number,
  { waitMs, ...waiting }: AccountWaiting,
  metrics?: ShareMetrics,
): AccountDatabase {
  const shares = createTenantShares({
    resource: 'account_transactions',
    capacity: poolSize,
    leavesFree: true,
    waiting,
    refusal: () => new AccountBusyError('the transactions of this account wait for one another'),
    metrics,
  });
  return (accountId) => ({
    ...database,
    query: (statement, values) => shares.run(accountId, () => database.query(statement, values), { waitMs }),
    transaction: (work) => shares.run(accountId, () => database.transaction(work), { waitMs }),
  });
}

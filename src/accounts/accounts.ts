/**
 * Accounts and their API keys as an operator handles them: created, listed, suspended, revoked. Requests are judged in
 * `authenticate.ts`; money is `billing/`'s.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { newId } from '../domain/ids.ts';
import { newApiKey } from './api-key.ts';
import type { Scope } from './api-key.ts';

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly status: 'active' | 'suspended';
  readonly createdAt: Date;
  readonly availableMicroUsd: bigint;
  readonly heldMicroUsd: bigint;
  readonly queued: number;
  readonly running: number;
  readonly persistentBytes: number;
  readonly limits: AccountLimits;
}

/** What an account may do, all of it settings of the account (contract §7). */
export interface AccountLimits {
  /** Tasks that run at once. */
  readonly runningCap: number;
  /** Tasks that wait behind them. */
  readonly queueCap: number;
  /** Creating requests per minute; as many at once. */
  readonly createsPerMinute: number;
  /** Reading requests per minute. */
  readonly readsPerMinute: number;
  /** Bytes of persistent storage (contract §5). */
  readonly storageCapBytes: number;
}

/** Contract §7: "60 creating requests/min, 1,200 reading ones, 10 running tasks, a queue of 1,000"; §5: 100 GB. */
export const DEFAULT_LIMITS: AccountLimits = {
  runningCap: 10,
  queueCap: 1_000,
  createsPerMinute: 60,
  readsPerMinute: 1_200,
  storageCapBytes: 100_000_000_000,
};

/** There is no account of that id. */
export class AccountNotFoundError extends Error {
  override readonly name = 'AccountNotFoundError';

  constructor(accountId: string) {
    super(`no account ${accountId}`);
  }
}

const insertAccount: Statement = {
  name: 'insert_account',
  text: `INSERT INTO accounts (id, name, creates_per_minute, reads_per_minute, storage_cap_bytes)
         VALUES ($1, $2, $3, $4, $5)`,
};
const insertCounters: Statement = {
  name: 'insert_account_counters',
  text: 'INSERT INTO account_counters (account_id, running_cap, queue_cap) VALUES ($1, $2, $3)',
};

/** Creates an account with a balance of nothing. Takes a transaction: both rows or none. */
export async function createAccount(
  transaction: Queryable,
  name: string,
  limits: Partial<AccountLimits> = {},
): Promise<string> {
  const id = newId('acc');
  const { runningCap, queueCap, createsPerMinute, readsPerMinute, storageCapBytes } = { ...DEFAULT_LIMITS, ...limits };
  await transaction.query(insertAccount, [id, name, createsPerMinute, readsPerMinute, storageCapBytes]);
  await transaction.query(insertCounters, [id, runningCap, queueCap]);
  return id;
}

interface AccountRow extends Omit<Account, 'limits'>, AccountLimits {}

const selectAccounts: Statement = {
  name: 'select_accounts',
  text: `SELECT a.id, a.name, a.status, a.created_at AS "createdAt", c.available_micro_usd AS "availableMicroUsd",
                c.held_micro_usd AS "heldMicroUsd", c.queued, c.running, c.persistent_bytes::float8 AS "persistentBytes",
                c.queue_cap AS "queueCap", c.running_cap AS "runningCap", a.creates_per_minute AS "createsPerMinute",
                a.reads_per_minute AS "readsPerMinute", a.storage_cap_bytes::float8 AS "storageCapBytes"
           FROM accounts a JOIN account_counters c ON c.account_id = a.id
          WHERE $1::text IS NULL OR a.id = $1
          ORDER BY a.created_at, a.id`,
};

/** All accounts, oldest first, or the one that is named. */
export async function listAccounts(database: Queryable, accountId?: string): Promise<readonly Account[]> {
  const rows = await database.query<AccountRow>(selectAccounts, [accountId ?? null]);
  return rows.map(({ runningCap, queueCap, createsPerMinute, readsPerMinute, storageCapBytes, ...account }) => ({
    ...account,
    limits: { runningCap, queueCap, createsPerMinute, readsPerMinute, storageCapBytes },
  }));
}

/** @throws {AccountNotFoundError} */
export async function readAccount(database: Queryable, accountId: string): Promise<Account> {
  const [account] = await listAccounts(database, accountId);
  if (account === undefined) throw new AccountNotFoundError(accountId);
  return account;
}

const updateStatus: Statement = {
  name: 'update_account_status',
  text: 'UPDATE accounts SET status = $2 WHERE id = $1 RETURNING id',
};
const updateSuspension: Statement = {
  name: 'update_account_suspension',
  text: 'UPDATE account_counters SET is_suspended = $2 WHERE account_id = $1',
};

/**
 * Suspends an account or lifts that: its requests are refused with 403, its queued tasks wait, its running ones finish.
 *
 * @throws {AccountNotFoundError}
 */
export async function setSuspended(transaction: Queryable, accountId: string, isSuspended: boolean): Promise<void> {
  const rows = await transaction.query(updateStatus, [accountId, isSuspended ? 'suspended' : 'active']);
  if (rows.length === 0) throw new AccountNotFoundError(accountId);
  await transaction.query(updateSuspension, [accountId, isSuspended]);
}

const insertKey: Statement = {
  name: 'insert_key',
  text: `INSERT INTO api_keys (id, account_id, name, secret_sha256, scopes, models, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)`,
};

export interface KeyRights {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly models?: readonly string[];
  readonly expiresAt?: Date;
}

/** Creates a key; its text is returned once and never again. */
export async function createKey(
  database: Queryable,
  accountId: string,
  rights: KeyRights,
): Promise<{ readonly id: string; readonly text: string }> {
  await readAccount(database, accountId);
  const key = newApiKey();
  await database.query(insertKey, [
    key.id,
    accountId,
    rights.name,
    key.secretSha256,
    rights.scopes,
    rights.models ?? null,
    rights.expiresAt ?? null,
  ]);
  return { id: key.id, text: key.text };
}

export interface KeyListing {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly revokedAt: Date | undefined;
}

const selectKeys: Statement = {
  name: 'select_keys',
  text: 'SELECT id, name, scopes, created_at, revoked_at FROM api_keys WHERE account_id = $1 ORDER BY created_at, id',
};

/** The keys of an account, oldest first, without their secrets. */
export async function listKeys(database: Queryable, accountId: string): Promise<readonly KeyListing[]> {
  const rows = await database.query<{
    id: string;
    name: string;
    scopes: Scope[];
    created_at: Date;
    revoked_at: Date | null;
  }>(selectKeys, [accountId]);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
  }));
}

const revoke: Statement = {
  name: 'revoke_key',
  text: 'UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING id',
};

/** Revokes a key for ever. @returns whether there was such a key. */
export async function revokeKey(database: Queryable, keyId: string): Promise<boolean> {
  const rows = await database.query(revoke, [keyId]);
  return rows.length > 0;
}

/**
 * Accounts as an operator manages them: created, listed, limited, suspended. Their keys are in `keys.ts`; requests
 * are authenticated in `authenticate.ts`; money is in `billing/`.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { newId } from '../domain/ids.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { requireOrganisation, IS_WALLET } from './wallet.ts';

export interface Account {
  readonly id: string;
  /** The account with which its organisation began: itself, unless it was created in the organisation of another. */
  readonly organisationId: string;
  /** The account whose counters have its money: itself, or that of its organisation. It never changes. */
  readonly walletId: string;
  readonly name: string;
  readonly status: 'active' | 'suspended';
  /** In its operator's words, and for operators only; null while it is not suspended, or if no reason was given. */
  readonly suspensionReason: string | null;
  readonly createdAt: Date;
  /** Of its wallet, as is what is held: all that the accounts of the wallet hold. */
  readonly availableMicroUsd: bigint;
  readonly heldMicroUsd: bigint;
  readonly queued: number;
  readonly running: number;
  /** Text calls in progress. */
  readonly textStreams: number;
  readonly persistentBytes: number;
  readonly limits: AccountLimits;
}

/** What an account may do, all of it settings of the account (contract §7). */
export interface AccountLimits {
  /** Tasks that run at once. */
  readonly runningCap: number;
  /** Tasks that are queued behind them. */
  readonly queueCap: number;
  /** Create requests per minute; as many at once. */
  readonly createsPerMinute: number;
  /** Read requests per minute. */
  readonly readsPerMinute: number;
  /** Bytes of persistent storage (contract §5). */
  readonly storageCapBytes: number;
  /** Text requests per minute; as many at once. */
  readonly textRequestsPerMinute: number;
  /** Tokens of text per minute, input and output together. */
  readonly textTokensPerMinute: number;
  /** Text calls in progress at once, streamed or not. */
  readonly textStreamsCap: number;
}

/**
 * Contract §7: "60 creating requests/min, 1,200 reading ones, 10 running tasks, a queue of 1,000"; §5: 100 GB. §7.3
 * names the three of text.
 */
export const DEFAULT_LIMITS: AccountLimits = {
  runningCap: 10,
  queueCap: 1_000,
  createsPerMinute: 60,
  readsPerMinute: 1_200,
  storageCapBytes: 100_000_000_000,
  textRequestsPerMinute: 600,
  textTokensPerMinute: 1_000_000,
  textStreamsCap: 100,
};

/** There is no account with that id. */
export class AccountNotFoundError extends DarkroomError {
  override readonly name = 'AccountNotFoundError';
  override readonly kind = 'not_found';

  constructor(accountId: string) {
    super(`no account ${accountId}`);
  }
}

const insertAccount: Statement = {
  name: 'insert_account',
  text: `INSERT INTO accounts (id, name, creates_per_minute, reads_per_minute, storage_cap_bytes,
                               text_requests_per_minute, text_tokens_per_minute, organisation_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};
const insertCounters: Statement = {
  name: 'insert_account_counters',
  text: `INSERT INTO account_counters (account_id, running_cap, queue_cap, text_streams_cap, wallet_id)
         VALUES ($1, $2, $3, $4, $5)`,
};
/**
 * Creates an account with a balance of zero, in an organisation of its own. Takes a transaction: both rows or none.
 *
 * @param organisationId the organisation that it belongs to, and whose wallet it shares.
 * @throws {UnknownOrganisationError} @throws {OrganisationFullError}
 */
export async function createAccount(
  transaction: Queryable,
  name: string,
  limits: Partial<AccountLimits> = {},
  organisationId?: string,
): Promise<string> {
  if (organisationId !== undefined) await requireOrganisation(transaction, organisationId);
  const id = newId('acc');
  const all = { ...DEFAULT_LIMITS, ...limits };
  await transaction.query(insertAccount, [
    id,
    name,
    all.createsPerMinute,
    all.readsPerMinute,
    all.storageCapBytes,
    all.textRequestsPerMinute,
    all.textTokensPerMinute,
    organisationId ?? null,
  ]);
  await transaction.query(insertCounters, [
    id,
    all.runningCap,
    all.queueCap,
    all.textStreamsCap,
    organisationId ?? null,
  ]);
  return id;
}

interface AccountRow extends Omit<Account, 'limits'>, AccountLimits {}

const ACCOUNT_COLUMNS = `a.id, a.name, a.status, a.suspension_reason AS "suspensionReason",
                coalesce(a.organisation_id, a.id) AS "organisationId", w.account_id AS "walletId",
                a.created_at AS "createdAt", w.available_micro_usd AS "availableMicroUsd",
                w.held_micro_usd AS "heldMicroUsd", c.queued, c.running, c.text_streams AS "textStreams",
                c.persistent_bytes::float8 AS "persistentBytes",
                c.queue_cap AS "queueCap", c.running_cap AS "runningCap", a.creates_per_minute AS "createsPerMinute",
                a.reads_per_minute AS "readsPerMinute", a.storage_cap_bytes::float8 AS "storageCapBytes",
                a.text_requests_per_minute AS "textRequestsPerMinute",
                a.text_tokens_per_minute AS "textTokensPerMinute", c.text_streams_cap AS "textStreamsCap"`;

const ACCOUNTS = `accounts a JOIN account_counters c ON c.account_id = a.id
                JOIN account_counters w ON ${IS_WALLET}`;

function accountOf(row: AccountRow): Account {
  const { runningCap, queueCap, createsPerMinute, readsPerMinute, storageCapBytes, ...others } = row;
  const { textRequestsPerMinute, textTokensPerMinute, textStreamsCap, ...account } = others;
  const limits = {
    runningCap,
    queueCap,
    createsPerMinute,
    readsPerMinute,
    storageCapBytes,
    textRequestsPerMinute,
    textTokensPerMinute,
    textStreamsCap,
  };
  return { ...account, limits };
}

const selectAccounts: Statement = {
  name: 'select_accounts',
  text: `SELECT ${ACCOUNT_COLUMNS} FROM ${ACCOUNTS}
          WHERE $1::text IS NULL OR a.id = $1
          ORDER BY a.created_at, a.id`,
};

/** All accounts, oldest first, or the one that is named. */
export async function listAccounts(database: Queryable, accountId?: string): Promise<readonly Account[]> {
  const rows = await database.query<AccountRow>(selectAccounts, [accountId ?? null]);
  return rows.map(accountOf);
}

const selectAccountPage: Statement = {
  name: 'select_account_page',
  text: `SELECT ${ACCOUNT_COLUMNS} FROM ${ACCOUNTS}
          WHERE ($2::text IS NULL OR (a.created_at, a.id) > (SELECT p.created_at, p.id FROM accounts p WHERE p.id = $2))
            AND ($3::text IS NULL OR a.id = $3 OR strpos(lower(a.name), lower($3)) > 0)
          ORDER BY a.created_at, a.id LIMIT $1`,
};

/**
 * Accounts, oldest first, that follow another one.
 *
 * @param after the last account of the page before.
 * @param search an id, or a part of the name, case-insensitive.
 */
export async function listAccountPage(
  database: Queryable,
  size: number,
  { after, search }: { readonly after?: string | undefined; readonly search?: string | undefined } = {},
): Promise<readonly Account[]> {
  const rows = await database.query<AccountRow>(selectAccountPage, [size, after ?? null, search ?? null]);
  return rows.map(accountOf);
}

/** @throws {AccountNotFoundError} */
export async function readAccount(database: Queryable, accountId: string): Promise<Account> {
  const [account] = await listAccounts(database, accountId);
  if (account === undefined) throw new AccountNotFoundError(accountId);
  return account;
}

const updateStatus: Statement = {
  name: 'update_account_status',
  text: `UPDATE accounts
            SET status = $2, suspension_reason = CASE WHEN $2 = 'suspended' THEN coalesce($3, suspension_reason) END
          WHERE id = $1 RETURNING id`,
};
const updateSuspension: Statement = {
  name: 'update_account_suspension',
  text: 'UPDATE account_counters SET is_suspended = $2 WHERE account_id = $1',
};

/**
 * Suspends an account or lifts the suspension: its requests are rejected with 403, its queued tasks wait, its running
 * ones finish.
 *
 * @param reason why, for operators; undefined: the previous one stays. Lifting the suspension deletes the reason.
 * @throws {AccountNotFoundError}
 */
export async function setSuspended(
  transaction: Queryable,
  accountId: string,
  isSuspended: boolean,
  reason?: string,
): Promise<void> {
  const rows = await transaction.query(updateStatus, [accountId, isSuspended ? 'suspended' : 'active', reason ?? null]);
  if (rows.length === 0) throw new AccountNotFoundError(accountId);
  await transaction.query(updateSuspension, [accountId, isSuspended]);
}

const updateNameAndRates: Statement = {
  name: 'update_account',
  text: `UPDATE accounts
            SET name = coalesce($2, name), creates_per_minute = coalesce($3, creates_per_minute),
                reads_per_minute = coalesce($4, reads_per_minute), storage_cap_bytes = coalesce($5, storage_cap_bytes),
                text_requests_per_minute = coalesce($6, text_requests_per_minute),
                text_tokens_per_minute = coalesce($7, text_tokens_per_minute)
          WHERE id = $1 RETURNING id`,
};
const updateCaps: Statement = {
  name: 'update_account_caps',
  text: `UPDATE account_counters
            SET running_cap = coalesce($2, running_cap), queue_cap = coalesce($3, queue_cap),
                text_streams_cap = coalesce($4, text_streams_cap)
          WHERE account_id = $1`,
};

/**
 * Changes limits of an account; those not named stay. Rates apply within a second, caps at once: a task that runs or
 * waits above a lowered cap stays, and so does a text call.
 *
 * @throws {AccountNotFoundError}
 */
export async function updateLimits(
  transaction: Queryable,
  accountId: string,
  limits: Partial<AccountLimits>,
): Promise<void> {
  const { createsPerMinute, readsPerMinute, storageCapBytes, textRequestsPerMinute, textTokensPerMinute } = limits;
  const rates = [createsPerMinute, readsPerMinute, storageCapBytes, textRequestsPerMinute, textTokensPerMinute];
  const rows = await transaction.query(updateNameAndRates, [accountId, null, ...rates.map((rate) => rate ?? null)]);
  if (rows.length === 0) throw new AccountNotFoundError(accountId);
  const caps = [limits.runningCap, limits.queueCap, limits.textStreamsCap];
  await transaction.query(updateCaps, [accountId, ...caps.map((cap) => cap ?? null)]);
}

/** @throws {AccountNotFoundError} */
export async function renameAccount(database: Queryable, accountId: string, name: string): Promise<void> {
  const rows = await database.query(updateNameAndRates, [accountId, name, ...Array<null>(5).fill(null)]);
  if (rows.length === 0) throw new AccountNotFoundError(accountId);
}

const lockStatement: Statement = {
  name: 'lock_account',
  text: 'SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE',
};

/**
 * Lets no other transaction change keys of this account until this one has ended. Requests and tasks never take this
 * lock.
 *
 * @throws {AccountNotFoundError}
 */
export async function lockAccount(transaction: Queryable, accountId: string): Promise<void> {
  const rows = await transaction.query(lockStatement, [accountId]);
  if (rows.length === 0) throw new AccountNotFoundError(accountId);
}

/**
 * The API keys of an account as they are stored: created, listed, replaced, revoked. Whether that is permitted is
 * checked by the callers: an operator may, and a key within its own rights (`key-delegation.ts`).
 */
import type { Queryable, Statement } from '../database/database.ts';
import { readAccount } from './accounts.ts';
import { isApiKeyId, newApiKey } from './api-key.ts';
import type { Scope } from '@darkroom/api/facts/scopes';
import { ROTATION_OVERLAP_SECONDS, MAX_LISTED_KEYS } from '@darkroom/api/facts/limits';
import { DarkroomError } from '../domain/darkroom-error.ts';

/**
 * What may be spent with a key, in micro-USD; undefined: no such cap. What counts is documented in
 * billing/spend-caps.ts.
 */
export interface SpendCaps {
  /** Per UTC day. */
  readonly dayMicroUsd?: bigint | undefined;
  readonly totalMicroUsd?: bigint | undefined;
}

export interface KeyRights {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Names of models without a route; absent: every model. */
  readonly models?: readonly string[];
  /** Absent: the key does not expire. */
  readonly expiresAt?: Date;
  readonly spendCaps?: SpendCaps;
}

/** A newly created key. The secret exists nowhere else. */
export interface CreatedKey {
  readonly id: string;
  readonly secret: string;
}

/** A key without its secret. */
export interface KeyListing {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Undefined: every model. */
  readonly models: readonly string[] | undefined;
  /** Undefined: it does not expire. */
  readonly expiresAt: Date | undefined;
  /** The caps that it was given itself, or that the key it replaces was. */
  readonly spendCaps: SpendCaps | undefined;
  /** The id under which its own caps count. */
  readonly spendCapId: string | undefined;
  /** Every cap that its spending counts against: its own, and those of the keys that created it. */
  readonly spendCapIds: readonly string[];
  readonly createdAt: Date;
  /** To the minute or so; undefined: never yet. */
  readonly lastUsedAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  /** The id of the key that it was rotated to. */
  readonly replacedBy: string | undefined;
}

/** The account has no such key. */
export class KeyNotFoundError extends DarkroomError {
  override readonly name = 'KeyNotFoundError';
  override readonly kind = 'not_found';

  constructor(keyId: string) {
    super(`no key ${keyId}`);
  }
}

/** A key cannot be created or changed like that; the message says why. */
export class KeyChangeRejectedError extends DarkroomError {
  override readonly name = 'KeyChangeRejectedError';
  override readonly kind = 'invalid_request';
}

/** The key and its caps together, or nothing. */
const insertKey: Statement = {
  name: 'insert_key',
  text: `WITH key AS (
           INSERT INTO api_keys (id, account_id, name, secret_sha256, scopes, models, expires_at, spend_cap_ids, spend_cap_id)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN num_nonnulls($9::bigint, $10::bigint) > 0 THEN $1 END)
        RETURNING account_id, spend_cap_id)
         INSERT INTO spend_caps (id, account_id, day_micro_usd, total_micro_usd)
         SELECT spend_cap_id, account_id, $9, $10 FROM key WHERE spend_cap_id IS NOT NULL`,
};

/**
 * Creates a key; its secret is returned once and never again.
 *
 * @param inheritedCapIds caps that the new key counts against in addition to its own.
 * @throws {AccountNotFoundError}
 */
export async function createKey(
  database: Queryable,
  accountId: string,
  rights: KeyRights,
  inheritedCapIds: readonly string[] = [],
): Promise<CreatedKey> {
  await readAccount(database, accountId);
  const { id, secret, secretSha256 } = newApiKey();
  const { name, scopes, models = null, expiresAt = null, spendCaps = {} } = rights;
  const { dayMicroUsd = null, totalMicroUsd = null } = spendCaps;
  const hasCaps = dayMicroUsd !== null || totalMicroUsd !== null;
  const capIds = hasCaps ? [...inheritedCapIds, id] : inheritedCapIds;
  await database.query(insertKey, [
    id,
    accountId,
    name,
    secretSha256,
    scopes,
    models,
    expiresAt,
    capIds,
    dayMicroUsd,
    totalMicroUsd,
  ]);
  return { id, secret };
}

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly models: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly spendCapId: string | null;
  readonly spendCapIds: readonly string[];
  readonly dayMicroUsd: bigint | null;
  readonly totalMicroUsd: bigint | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly replacedBy: string | null;
}

const KEY_COLUMNS = `k.id, k.name, k.scopes, k.models, k.expires_at AS "expiresAt", k.spend_cap_id AS "spendCapId",
  k.spend_cap_ids AS "spendCapIds", c.day_micro_usd AS "dayMicroUsd", c.total_micro_usd AS "totalMicroUsd",
  k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt", k.revoked_at AS "revokedAt",
  k.replaced_by AS "replacedBy"`;

function listingOf(row: KeyRow): KeyListing {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    models: row.models ?? undefined,
    expiresAt: row.expiresAt ?? undefined,
    spendCaps:
      row.spendCapId === null
        ? undefined
        : { dayMicroUsd: row.dayMicroUsd ?? undefined, totalMicroUsd: row.totalMicroUsd ?? undefined },
    spendCapId: row.spendCapId ?? undefined,
    spendCapIds: row.spendCapIds,
    createdAt: row.createdAt,
    lastUsedAt: row.lastUsedAt ?? undefined,
    revokedAt: row.revokedAt ?? undefined,
    replacedBy: row.replacedBy ?? undefined,
  };
}

const selectKeys: Statement = {
  name: 'select_keys',
  text: `SELECT * FROM (
           SELECT ${KEY_COLUMNS}
             FROM api_keys k LEFT JOIN spend_caps c ON c.id = k.spend_cap_id
            WHERE k.account_id = $1
            ORDER BY k.revoked_at IS NOT NULL, k.created_at DESC, k.id LIMIT ${MAX_LISTED_KEYS}) k
          ORDER BY "createdAt", id`,
};

/** The keys of an account, oldest first, without their secrets; the revoked ones too. */
export async function listKeys(database: Queryable, accountId: string): Promise<readonly KeyListing[]> {
  const rows = await database.query<KeyRow>(selectKeys, [accountId]);
  return rows.map(listingOf);
}

const selectKey: Statement = {
  name: 'select_key_listing',
  text: `SELECT ${KEY_COLUMNS} FROM api_keys k LEFT JOIN spend_caps c ON c.id = k.spend_cap_id
          WHERE k.id = $1 AND ($2::text IS NULL OR k.account_id = $2)`,
};
const selectKeyToChange: Statement = { name: 'select_key_to_change', text: `${selectKey.text} FOR UPDATE OF k` };
const selectKeyToAct: Statement = { name: 'select_key_to_act', text: `${selectKey.text} FOR SHARE OF k` };

/**
 * One key, whatever its state.
 *
 * @param accountId the account that it has to belong to; absent: any.
 * @param lock in a transaction, until its end: `change` for callers that change the key, `act` for callers that act
 *   by right of it, so that a revocation comes either before that or after it.
 * @throws {KeyNotFoundError}
 */
export async function readKey(
  database: Queryable,
  keyId: string,
  accountId?: string,
  lock?: 'change' | 'act',
): Promise<KeyListing> {
  if (!isApiKeyId(keyId)) throw new KeyNotFoundError(keyId);
  const statement = lock === 'change' ? selectKeyToChange : lock === 'act' ? selectKeyToAct : selectKey;
  const [row] = await database.query<KeyRow>(statement, [keyId, accountId ?? null]);
  if (row === undefined) throw new KeyNotFoundError(keyId);
  return listingOf(row);
}

const revoke: Statement = {
  name: 'revoke_key',
  text: `UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
          WHERE id = $1 AND ($2::text IS NULL OR account_id = $2) RETURNING id`,
};

/** Revokes a key permanently. @param accountId as in `readKey`. @returns whether there was such a key. */
export async function revokeKey(database: Queryable, keyId: string, accountId?: string): Promise<boolean> {
  if (!isApiKeyId(keyId)) return false;
  const rows = await database.query(revoke, [keyId, accountId ?? null]);
  return rows.length > 0;
}

const replaceKey: Statement = {
  name: 'replace_key',
  text: `WITH successor AS (
           INSERT INTO api_keys (id, account_id, name, secret_sha256, scopes, models, expires_at, spend_cap_ids, spend_cap_id)
           SELECT $2, account_id, name, $3, scopes, models, expires_at, spend_cap_ids, spend_cap_id
             FROM api_keys WHERE id = $1)
         UPDATE api_keys SET replaced_by = $2, expires_at = least(expires_at, $4) WHERE id = $1`,
};

/** How a key is rotated. */
export interface Rotation {
  /** Milliseconds since 1970. */
  readonly now: number;
  /**
   * How many seconds the old key continues to work; 0: it stops at once. It never works longer than it would have
   * without the rotation.
   */
  readonly overlapSeconds?: number;
  /** As in `readKey`. */
  readonly accountId?: string;
}

/**
 * Replaces a key with a new one with the same name and rights. What was spent with the old one counts against the
 * caps of the new one. Takes a transaction, in which the key stays locked.
 *
 * @throws {KeyNotFoundError} @throws {KeyChangeRejectedError} it was revoked, has expired or was replaced already.
 */
export async function rotateKey(transaction: Queryable, keyId: string, rotation: Rotation): Promise<CreatedKey> {
  const { now, overlapSeconds = ROTATION_OVERLAP_SECONDS.default, accountId } = rotation;
  const old = await readKey(transaction, keyId, accountId, 'change');
  if (old.revokedAt !== undefined) throw new KeyChangeRejectedError(`the key ${keyId} was revoked`);
  if (old.replacedBy !== undefined) {
    throw new KeyChangeRejectedError(`the key ${keyId} was replaced already, by ${old.replacedBy}`);
  }
  if (old.expiresAt !== undefined && old.expiresAt.getTime() <= now) {
    throw new KeyChangeRejectedError(`the key ${keyId} has expired`);
  }
  const { id, secret, secretSha256 } = newApiKey();
  await transaction.query(replaceKey, [keyId, id, secretSha256, new Date(now + overlapSeconds * 1000)]);
  return { id, secret };
}

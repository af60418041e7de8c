/**
 * Short-lived tokens for browsers and mobile applications (contract §7): a key creates them with a part of its rights,
 * and they end with it. What is done with a token is done as its key, so that lists, usage and retries do not depend on
 * which token was used.
 */
import type { Database, Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import type { Scope } from '@darkroom/api/facts/scopes';
import type { TokenSecret } from './api-key.ts';
import { isTokenId, newToken } from './api-key.ts';
import { ForbiddenError } from './authenticate.ts';
import type { Caller } from './authenticate.ts';
import { requireDelegable } from './key-delegation.ts';
import { KeyChangeRejectedError } from './keys.ts';

/** The maximum number of valid tokens of an account. */
const MAX_TOKENS = 10_000;

export interface TokenRights {
  readonly scopes: readonly Scope[];
  /** Absent: those of the key. */
  readonly models?: readonly string[] | undefined;
  readonly spendCapMicroUsd?: bigint | undefined;
  readonly seconds: number;
  /** Absent: no page can use it. */
  readonly origins?: readonly string[] | undefined;
}

/** A newly created token. The secret exists nowhere else. */
export interface CreatedToken extends Pick<TokenSecret, 'id' | 'secret'> {
  readonly models: readonly string[] | undefined;
  readonly expiresAt: Date;
}

const countTokens: Statement = {
  name: 'count_tokens',
  text: 'SELECT count(*)::integer AS tokens FROM tokens WHERE account_id = $1 AND expires_at > $2',
};

const insertToken: Statement = {
  name: 'insert_token',
  text: `WITH token AS (
           INSERT INTO tokens (id, key_id, account_id, secret_sha256, scopes, models, origins, is_capped, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8::bigint IS NOT NULL, $9)
        RETURNING id, account_id, origins, expires_at),
         cap AS (
           INSERT INTO spend_caps (id, account_id, total_micro_usd)
           SELECT id, account_id, $8 FROM token WHERE $8::bigint IS NOT NULL)
         INSERT INTO token_origins (origin, expires_at, token_id)
         SELECT o, expires_at, id FROM token, unnest(origins) o`,
};

/**
 * @param now milliseconds since 1970.
 * @throws {ForbiddenError} the key may not do that itself, or the caller is a token.
 * @throws {KeyChangeRejectedError} the account has as many tokens as it may.
 * @throws {UnauthenticatedError} the key was revoked in the meantime.
 */
export function createToken(
  database: Database,
  caller: Caller,
  { scopes, models, spendCapMicroUsd, seconds, origins }: TokenRights,
  now: number,
): Promise<CreatedToken> {
  if (caller.tokenId !== undefined) throw new ForbiddenError('a token cannot create tokens; use its key');
  return database.transaction(async (transaction) => {
    const endsAt = now + seconds * 1000;
    const expiresAt = new Date(Math.min(endsAt, caller.expiresAt?.getTime() ?? endsAt));
    const spendCaps = spendCapMicroUsd === undefined ? undefined : { totalMicroUsd: spendCapMicroUsd };
    const ownModels = caller.models === undefined ? undefined : [...caller.models];
    const granted = models ?? ownModels;
    const rights = { scopes, models: granted, expiresAt, spendCaps };
    await requireDelegable(transaction, caller, rights, now);
    const [row] = await transaction.query<{ tokens: number }>(countTokens, [caller.accountId, new Date(now)]);
    if ((row?.tokens ?? 0) >= MAX_TOKENS) {
      throw new KeyChangeRejectedError(`this account has ${MAX_TOKENS} valid tokens already; wait until some expire`);
    }
    const { id, secret, secretSha256 } = newToken();
    await transaction.query(insertToken, [
      id,
      caller.keyId,
      caller.accountId,
      secretSha256,
      scopes,
      granted ?? null,
      origins ?? null,
      spendCapMicroUsd ?? null,
      expiresAt,
    ]);
    return { id, secret, models: granted, expiresAt };
  });
}

/** There is no such token, or it is another account's. */
export class TokenNotFoundError extends DarkroomError {
  override readonly name = 'TokenNotFoundError';
  override readonly kind = 'not_found';
}

/** A token as it is stored. */
export interface StoredToken {
  readonly id: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  readonly models: readonly string[] | null;
  readonly origins: readonly string[] | null;
  readonly expiresAt: Date;
}

const TOKEN_COLUMNS = `id, key_id AS "keyId", scopes, models, origins, expires_at AS "expiresAt"`;

const selectForRevocation: Statement = {
  name: 'select_token_for_revocation',
  text: `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = $1 AND account_id = $2 FOR NO KEY UPDATE`,
};
const endToken: Statement = {
  name: 'end_token',
  text: `WITH origin AS (
           DELETE FROM token_origins WHERE token_id = $1 AND origin = ANY ($3) AND expires_at = $4)
         UPDATE tokens SET expires_at = $2 WHERE id = $1 RETURNING ${TOKEN_COLUMNS}`,
};

/**
 * Ends a token before its time, by a key of its account or by itself. Ending it twice is ending it once.
 *
 * @param now milliseconds since 1970.
 * @throws {TokenNotFoundError} @throws {ForbiddenError} the caller is another token.
 */
export async function revokeToken(
  database: Database,
  caller: Caller,
  tokenId: string,
  now: number,
): Promise<StoredToken> {
  if (!isTokenId(tokenId)) throw new TokenNotFoundError();
  return database.transaction(async (transaction) => {
    const [token] = await transaction.query<StoredToken>(selectForRevocation, [tokenId, caller.accountId]);
    if (token === undefined) throw new TokenNotFoundError();
    if (caller.tokenId !== undefined && caller.tokenId !== tokenId) {
      throw new ForbiddenError('a token can revoke only itself; use a key');
    }
    const endsAt = new Date(now);
    if (token.expiresAt <= endsAt) return token;
    const [ended] = await transaction.query<StoredToken>(endToken, [tokenId, endsAt, token.origins, token.expiresAt]);
    return ended ?? token;
  });
}

const selectOrigin: Statement = {
  name: 'select_token_origin',
  text: 'SELECT 1 FROM token_origins WHERE origin = $1 AND expires_at > $2 LIMIT 1',
};

/** Whether pages of an origin may have a valid token. @param now milliseconds since 1970. */
export async function isTokenOrigin(database: Queryable, origin: string, now: number): Promise<boolean> {
  return (await database.query(selectOrigin, [origin, new Date(now)])).length > 0;
}

const deleteUncapped: Statement = {
  name: 'delete_old_tokens',
  text: `DELETE FROM tokens WHERE id IN (
           SELECT id FROM tokens WHERE NOT is_capped AND expires_at <= to_timestamp($1::float8)
            ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id`,
};
const deleteCapped: Statement = {
  name: 'delete_old_capped_tokens',
  text: `WITH old AS (
           DELETE FROM tokens WHERE id IN (
             SELECT id FROM tokens WHERE is_capped AND expires_at <= to_timestamp($1::float8)
              ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id),
         periods AS (DELETE FROM spend_periods WHERE cap_id IN (SELECT id FROM old) RETURNING cap_id),
         caps AS (
           DELETE FROM spend_caps WHERE id IN (SELECT id FROM old) RETURNING id)
         SELECT id FROM old`,
};
const deleteOrigins: Statement = {
  name: 'delete_old_token_origins',
  text: `DELETE FROM token_origins WHERE (origin, expires_at, token_id) IN (
           SELECT origin, expires_at, token_id FROM token_origins WHERE expires_at <= to_timestamp($1::float8)
            ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING origin`,
};

const HOUR_SECONDS = 3_600;
/** A settlement is retried for 30 days, and takes back from the cap what was held. */
const CAP_KEPT_SECONDS = 31 * 24 * HOUR_SECONDS;

/** Deletes tokens that ended long ago. Safe to run at any time and twice. @returns how many rows. */
export async function deleteOldTokens(
  database: Queryable,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  const seconds = now / 1000;
  const rows = [
    await database.query(deleteOrigins, [seconds - HOUR_SECONDS, limit]),
    await database.query(deleteUncapped, [seconds - HOUR_SECONDS, limit]),
    await database.query(deleteCapped, [seconds - CAP_KEPT_SECONDS, limit]),
  ];
  return Math.max(...rows.map(({ length }) => length));
}

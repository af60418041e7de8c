/**
 * The caller of a request: from the `Authorization` header to an account and its rights (spec §5). A key's row is
 * cached for at most a second, which is how long a revocation may take to reach other processes (contract §7); in the
 * process that revokes it is forgotten at once.
 */
import { LRUCache } from 'lru-cache';
import type { Database, Statement } from '../database/database.ts';
import { parseApiKey, parseToken, secretsMatch } from './api-key.ts';
import type { Scope } from '@darkroom/api/facts/scopes';
import { FAILING_RECEIVERS_OF_KEY } from './callback-receivers.ts';
import type { KeyUse } from './key-use.ts';
import { createSessions, hashSecret } from './sessions.ts';
import type { Sessions } from './sessions.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

/** Everything that is needed of a key while a request is served. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  /** For a short-lived token of the key. */
  readonly tokenId?: string;
  /** The origins of the pages that may use the token; undefined: the caller is no token for pages. */
  readonly origins?: ReadonlySet<string>;
  /** For a session of the dashboard: the hexadecimal SHA-256 of its secret, under which it is stored. */
  readonly sessionId?: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Undefined: every model. */
  readonly models: ReadonlySet<string> | undefined;
  /** Undefined: the key does not expire. */
  readonly expiresAt: Date | undefined;
  /** The caps that the key's spending counts against (billing/spend-caps.ts); none for most keys. */
  readonly spendCapIds: readonly string[];
  /** Receivers of the account that accept no callbacks (callback-receivers.ts). */
  readonly failingReceivers: number;
  /** The account's requests per minute (contract §7). */
  readonly createsPerMinute: number;
  readonly readsPerMinute: number;
  readonly textRequestsPerMinute: number;
  /** The account's text tokens per minute, input and output together. */
  readonly textTokensPerMinute: number;
}

/** The key is missing, malformed, unknown, revoked or expired. All cases have the same error (contract §1). */
export class UnauthenticatedError extends DarkroomError {
  override readonly name = 'UnauthenticatedError';
  override readonly kind = 'unauthenticated';
  /** Of a token that was valid once: its pages may read that it has ended. */
  readonly origins: ReadonlySet<string> | undefined;

  constructor(origins?: ReadonlySet<string>) {
    super();
    this.origins = origins;
  }
}

/** The key is valid, its account is suspended (spec §5.3). */
export class AccountSuspendedError extends DarkroomError {
  override readonly name = 'AccountSuspendedError';
  override readonly kind = 'account_suspended';
  readonly caller: Caller;

  constructor(caller: Caller) {
    super('the account is suspended');
    this.caller = caller;
  }
}

/** The key lacks a scope, or a model is not among its own. */
export class ForbiddenError extends DarkroomError {
  override readonly name = 'ForbiddenError';
  override readonly kind = 'forbidden';
}

/**
 * How long an entry of the cache is valid, in milliseconds. Contract §7: revoking takes effect "within 1 s on other
 * processes".
 */
const CACHE_TTL_MS = 1_000;
/**
 * The maximum number of cached keys, some 500 B each. It bounds the memory that many different valid keys can occupy.
 */
const CACHE_ENTRIES = 10_000;

interface KeyRow {
  readonly account_id: string;
  readonly secret_sha256: Buffer;
  readonly scopes: Scope[];
  readonly models: string[] | null;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly replaced_by: string | null;
  readonly account_status: 'active' | 'suspended';
  readonly spend_cap_ids: string[];
  readonly failing_receivers: number;
  readonly creates_per_minute: number;
  readonly reads_per_minute: number;
  readonly text_requests_per_minute: number;
  readonly text_tokens_per_minute: number;
}

const selectKey: Statement = {
  name: 'select_key',
  text: `SELECT k.account_id, k.secret_sha256, k.scopes, k.models, k.expires_at, k.revoked_at, k.replaced_by,
                a.status AS account_status, k.spend_cap_ids, a.creates_per_minute, a.reads_per_minute, a.text_requests_per_minute,
                a.text_tokens_per_minute, ${FAILING_RECEIVERS_OF_KEY} AS failing_receivers
           FROM api_keys k JOIN accounts a ON a.id = k.account_id
          WHERE k.id = $1`,
};

interface TokenRow {
  readonly key_id: string;
  readonly secret_sha256: Buffer;
  readonly scopes: Scope[];
  readonly models: string[] | null;
  readonly origins: string[] | null;
  readonly is_capped: boolean;
  readonly expires_at: Date;
}

const selectToken: Statement = {
  name: 'select_token',
  text: 'SELECT key_id, secret_sha256, scopes, models, origins, is_capped, expires_at FROM tokens WHERE id = $1',
};

export interface Authenticator {
  /**
   * @param authorization the header as it came.
   * @throws {UnauthenticatedError} @throws {AccountSuspendedError}
   */
  authenticate(authorization: string | undefined): Promise<Caller>;
  /**
   * The same for a session of the dashboard, which has exactly the rights of its key (sessions.ts).
   *
   * @throws {UnauthenticatedError} the session or its key has ended, or the key lacks the scope `dashboard`.
   * @throws {AccountSuspendedError}
   */
  authenticateSession(secret: string): Promise<Caller>;
  /**
   * The caller for work that continues a request of a key, which has no secret. A key that has ended and was rotated is
   * continued by its successor.
   *
   * @throws {UnauthenticatedError} the key has ended, and its successors. @throws {AccountSuspendedError}
   */
  callerOfKey(keyId: string): Promise<Caller>;
  /** Forgets a key, or a token, at once: it was revoked, or its account suspended, in this process. */
  forget(id: string): void;
}

/** @param parts `keyUse` records every key that authenticated a request. */
export function createAuthenticator(
  database: Database,
  now: () => number = Date.now,
  parts: { readonly keyUse?: Pick<KeyUse, 'note'>; readonly sessions?: Pick<Sessions, 'find'> } = {},
): Authenticator {
  const { keyUse, sessions = createSessions(database, now) } = parts;
  const rows = new LRUCache<string, Promise<KeyRow | undefined>>({ max: CACHE_ENTRIES, ttl: CACHE_TTL_MS });
  const tokens = new LRUCache<string, Promise<TokenRow | undefined>>({ max: CACHE_ENTRIES, ttl: CACHE_TTL_MS });

  const readKey = (keyId: string): Promise<KeyRow | undefined> => {
    const cached = rows.get(keyId);
    if (cached !== undefined) return cached;
    const reading = database.query<KeyRow>(selectKey, [keyId]).then(([row]) => row);
    rows.set(keyId, reading);
    // A lookup that failed says nothing about the key.
    reading.catch(() => rows.delete(keyId));
    return reading;
  };

  const readToken = (tokenId: string): Promise<TokenRow | undefined> => {
    const cached = tokens.get(tokenId);
    if (cached !== undefined) return cached;
    const reading = database.query<TokenRow>(selectToken, [tokenId]).then(([row]) => row);
    tokens.set(tokenId, reading);
    reading.catch(() => tokens.delete(tokenId));
    return reading;
  };

  /** The key of a token, with the rights that both have. */
  const authenticateToken = async (presented: NonNullable<ReturnType<typeof parseToken>>): Promise<Caller> => {
    const token = await readToken(presented.id);
    if (token === undefined || !secretsMatch(presented.secretSha256, token.secret_sha256)) {
      throw new UnauthenticatedError();
    }
    const origins = token.origins === null ? undefined : new Set(token.origins);
    const key = await readKey(token.key_id);
    if (key === undefined || token.expires_at.getTime() <= now()) throw new UnauthenticatedError(origins);
    const own = { tokenId: presented.id, ...(origins === undefined ? {} : { origins }) };
    const caller = callerOf(token.key_id, key, own);
    return {
      ...caller,
      scopes: new Set(token.scopes.filter((scope) => caller.scopes.has(scope))),
      // A key's models never change.
      models: token.models === null ? caller.models : new Set(token.models),
      expiresAt: token.expires_at,
      spendCapIds: token.is_capped ? [...caller.spendCapIds, presented.id] : caller.spendCapIds,
    };
  };

  const hasEnded = ({ revoked_at: revokedAt, expires_at: expiresAt }: KeyRow): boolean =>
    revokedAt !== null || (expiresAt !== null && expiresAt.getTime() <= now());

  /**
   * @param token what the caller has in addition, if it is a token.
   * @throws {UnauthenticatedError} @throws {AccountSuspendedError}
   */
  const callerOf = (keyId: string, row: KeyRow, token: Pick<Caller, 'tokenId' | 'origins'> = {}): Caller => {
    if (hasEnded(row)) throw new UnauthenticatedError(token.origins);
    const caller: Caller = {
      ...token,
      accountId: row.account_id,
      keyId,
      scopes: new Set(row.scopes),
      models: row.models === null ? undefined : new Set(row.models),
      expiresAt: row.expires_at ?? undefined,
      spendCapIds: row.spend_cap_ids,
      failingReceivers: row.failing_receivers,
      createsPerMinute: row.creates_per_minute,
      readsPerMinute: row.reads_per_minute,
      textRequestsPerMinute: row.text_requests_per_minute,
      textTokensPerMinute: row.text_tokens_per_minute,
    };
    if (row.account_status === 'suspended') throw new AccountSuspendedError(caller);
    keyUse?.note(keyId);
    return caller;
  };

  return {
    async authenticate(authorization) {
      const text = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
      const token = text === undefined ? undefined : parseToken(text);
      if (token !== undefined) return authenticateToken(token);
      const presented = text === undefined ? undefined : parseApiKey(text);
      if (presented === undefined) throw new UnauthenticatedError();
      const row = await readKey(presented.id);
      if (row === undefined || !secretsMatch(presented.secretSha256, row.secret_sha256)) {
        throw new UnauthenticatedError();
      }
      return callerOf(presented.id, row);
    },
    async authenticateSession(secret) {
      const session = await sessions.find(secret);
      const row = session === undefined ? undefined : await readKey(session.keyId);
      if (session === undefined || row?.scopes.includes('dashboard') !== true) throw new UnauthenticatedError();
      return { ...callerOf(session.keyId, row), sessionId: hashSecret(secret).toString('hex') };
    },
    async callerOfKey(keyId) {
      let id = keyId;
      let row = await readKey(id);
      while (row !== undefined && hasEnded(row) && row.replaced_by !== null) {
        id = row.replaced_by;
        row = await readKey(id);
      }
      if (row === undefined) throw new UnauthenticatedError();
      return callerOf(id, row);
    },
    forget: (id) => {
      rows.delete(id);
      tokens.delete(id);
    },
  };
}

/** @throws {ForbiddenError} naming the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.has(scope)) throw new ForbiddenError(`this key lacks the scope ${scope}`);
}

/** @throws {ForbiddenError} naming the model. */
export function requireModel(caller: Caller, model: string): void {
  if (caller.models !== undefined && !caller.models.has(model)) {
    throw new ForbiddenError(`this key may not use the model ${model}`);
  }
}

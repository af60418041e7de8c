/**
 * Signing in to the dashboard: its sessions, the links that start one, and the key that such a link stands for. A
 * session is a secret in a browser's cookie that stands for a key, so that the key itself is not stored there. It has
 * exactly the rights of its key and ends with it; a request with one is checked like one with the key
 * (authenticate.ts). Only the secret's SHA-256 is stored. That a session has ended may take a second to reach other
 * processes, as with keys (contract §7).
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { randomBase62 } from '../domain/ids.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey, listKeys } from './keys.ts';
import type { KeyListing } from './keys.ts';

/** The duration of a session: a working day. A user who returns the next day signs in again. */
export const SESSION_SECONDS = 8 * 3_600;

/** The maximum number of sessions of one key. A further sign-in ends the oldest one. */
export const MAX_SESSIONS_OF_KEY = 50;

const SECRET_LENGTH = 43;
const SECRET = new RegExp(`^[0-9A-Za-z]{${SECRET_LENGTH}}$`);

const CACHE_TTL_MS = 1_000;
const CACHE_ENTRIES = 10_000;

export interface Session {
  readonly keyId: string;
  readonly expiresAt: Date;
}

/** A newly started session. The secret exists nowhere else. */
export interface StartedSession extends Session {
  readonly secret: string;
}

export interface Sessions {
  /** Starts a session of a key, and removes those that have ended, and the oldest of a key that has too many. */
  begin(transaction: Queryable, keyId: string): Promise<StartedSession>;
  /** @returns undefined: there is none with this secret, or it has ended. */
  find(secret: string): Promise<Session | undefined>;
  /** Ends one; has no effect if it has ended before. */
  end(secret: string): Promise<void>;
  /** Ends every session of a key. @returns how many there were. */
  endAll(keyId: string): Promise<number>;
}

/** The stored form of a secret. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** A new secret, of a form that needs no escaping in a cookie or a link: 256 bits. */
export function newSecret(): string {
  return randomBase62(SECRET_LENGTH);
}

/** Whether a string can be such a secret. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

const deleteExpiredSessions: Statement = {
  name: 'delete_expired_sessions',
  text: 'DELETE FROM dashboard_sessions WHERE expires_at <= $1',
};
const removeOldest: Statement = {
  name: 'remove_oldest_sessions_of_key',
  text: `DELETE FROM dashboard_sessions
          WHERE secret_sha256 IN (SELECT secret_sha256 FROM dashboard_sessions WHERE key_id = $1
                                   ORDER BY created_at DESC, secret_sha256 OFFSET $2)`,
};
const insertSession: Statement = {
  name: 'insert_session',
  text: 'INSERT INTO dashboard_sessions (secret_sha256, key_id, created_at, expires_at) VALUES ($1, $2, $3, $4)',
};
const selectSession: Statement = {
  name: 'select_session',
  text: 'SELECT key_id AS "keyId", expires_at AS "expiresAt" FROM dashboard_sessions WHERE secret_sha256 = $1',
};
const deleteSession: Statement = {
  name: 'delete_session',
  text: 'DELETE FROM dashboard_sessions WHERE secret_sha256 = $1',
};
const deleteSessionsOfKey: Statement = {
  name: 'delete_sessions_of_key',
  text: 'DELETE FROM dashboard_sessions WHERE key_id = $1 RETURNING key_id',
};

export function createSessions(database: Database, now: () => number): Sessions {
  const known = new LRUCache<string, Promise<Session | undefined>>({ max: CACHE_ENTRIES, ttl: CACHE_TTL_MS });

  const read = (secret: string): Promise<Session | undefined> => {
    const hash = hashSecret(secret);
    const id = hash.toString('base64');
    const cached = known.get(id);
    if (cached !== undefined) return cached;
    const reading = database.query<Session>(selectSession, [hash]).then(([row]) => row);
    known.set(id, reading);
    // A lookup that failed says nothing about the session.
    reading.catch(() => known.delete(id));
    return reading;
  };

  return {
    async begin(transaction, keyId) {
      const beganAt = new Date(now());
      const expiresAt = new Date(beganAt.getTime() + SESSION_SECONDS * 1000);
      const secret = newSecret();
      await transaction.query(deleteExpiredSessions, [beganAt]);
      await transaction.query(removeOldest, [keyId, MAX_SESSIONS_OF_KEY - 1]);
      await transaction.query(insertSession, [hashSecret(secret), keyId, beganAt, expiresAt]);
      return { keyId, secret, expiresAt };
    },
    async find(secret) {
      if (!isSecret(secret)) return undefined;
      const session = await read(secret);
      return session === undefined || session.expiresAt.getTime() <= now() ? undefined : session;
    },
    async end(secret) {
      const hash = hashSecret(secret);
      await database.query(deleteSession, [hash]);
      known.delete(hash.toString('base64'));
    },
    async endAll(keyId) {
      const ended = await database.query(deleteSessionsOfKey, [keyId]);
      known.clear();
      return ended.length;
    },
  };
}

export const SIGN_IN_LINK_SECONDS = 600;

/**
 * A newly created link that signs in to the dashboard: it starts one session of one key, once, within ten minutes. It
 * contains a secret of its own, which exists nowhere else and which only a POST redeems, so that neither a preview of
 * the link nor a log of URLs uses it up or discloses it.
 */
interface NewSignInLink {
  readonly secret: string;
  readonly expiresAt: Date;
}

const deleteExpiredLinks: Statement = {
  name: 'delete_expired_sign_in_links',
  text: 'DELETE FROM sign_in_links WHERE expires_at <= $1',
};
const insertLink: Statement = {
  name: 'insert_sign_in_link',
  text: 'INSERT INTO sign_in_links (secret_sha256, key_id, expires_at) VALUES ($1, $2, $3)',
};
const redeemLink: Statement = {
  name: 'redeem_sign_in_link',
  text: 'DELETE FROM sign_in_links WHERE secret_sha256 = $1 RETURNING key_id AS "keyId", expires_at AS "expiresAt"',
};

/**
 * Creates a link for a key, and removes those that have expired.
 *
 * @param now milliseconds since 1970.
 */
export async function createSignInLink(database: Queryable, keyId: string, now: number): Promise<NewSignInLink> {
  const secret = newSecret();
  const expiresAt = new Date(now + SIGN_IN_LINK_SECONDS * 1000);
  await database.query(deleteExpiredLinks, [new Date(now)]);
  await database.query(insertLink, [hashSecret(secret), keyId, expiresAt]);
  return { secret, expiresAt };
}

/**
 * Uses up a link; of two simultaneous attempts one succeeds.
 *
 * @returns the id of its key; undefined: there is no such link, it was used before, or it has expired.
 */
export async function redeemSignInLink(
  transaction: Queryable,
  secret: string,
  now: number,
): Promise<string | undefined> {
  if (!isSecret(secret)) return undefined;
  const [row] = await transaction.query<{ keyId: string; expiresAt: Date }>(redeemLink, [hashSecret(secret)]);
  return row === undefined || row.expiresAt.getTime() <= now ? undefined : row.keyId;
}

/** The URL of the dashboard that redeems a link. The secret is after `#`: browsers send that to no server. */
export function signInUrl(publicUrl: string, secret: string): string {
  return `${publicUrl}/sign-in#${secret}`;
}

/**
 * The key that a link to the dashboard stands for if none is named: links are printed by `npm start` and by
 * `admin sign-in-link`, whose users are operators and may do everything. It is the account's key with the widest rights
 * that may sign in, the newest of these; one is created if there is none. Its secret is then never disclosed: it serves
 * sessions only.
 *
 * @param now milliseconds since 1970.
 * @returns its id. @throws {AccountNotFoundError}
 */
export async function dashboardKey(database: Queryable, accountId: string, now: number): Promise<string> {
  const usable = (await listKeys(database, accountId)).filter((key) => mayStillSignIn(key, now));
  const [widest] = usable.toSorted(
    (one, other) => breadth(other) - breadth(one) || other.createdAt.getTime() - one.createdAt.getTime(),
  );
  if (widest !== undefined) return widest.id;
  const made = await createKey(database, accountId, { name: 'dashboard', scopes: SCOPES });
  return made.id;
}

function mayStillSignIn({ scopes, revokedAt, expiresAt }: KeyListing, now: number): boolean {
  return scopes.includes('dashboard') && revokedAt === undefined && (expiresAt?.getTime() ?? Infinity) > now;
}

/** Scopes first; limits make a key narrower than any that lacks them. */
function breadth({ scopes, models, spendCapIds, expiresAt }: KeyListing): number {
  const limits = [models !== undefined, spendCapIds.length > 0, expiresAt !== undefined].filter(Boolean).length;
  return scopes.length - limits * SCOPES.length;
}

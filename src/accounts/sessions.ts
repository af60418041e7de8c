/**
 * Sessions of the dashboard: a secret in a browser's cookie that stands for a key, so that the key itself is not
 * stored there. A session has exactly the rights of its key and ends with it; a request with one is checked like one
 * with the key (authenticate.ts). Only the secret's SHA-256 is stored. That a session has ended may take a second to
 * reach other processes, as with keys (contract §7).
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { randomBase62 } from '../domain/ids.ts';

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

const deleteExpired: Statement = {
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
      await transaction.query(deleteExpired, [beganAt]);
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

/**
 * The webhook signing key of an account (spec §5.5): its own secret or one made here, encrypted at rest, and replaced
 * with an overlap in which both keys sign (contract §6: 24 h).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Queryable, Statement } from '../database/database.ts';
import { lockAccount } from './accounts.ts';

/** Contract §6: "During rotation both keys sign for 24 h". */
const OVERLAP_MS = 24 * 3_600_000;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Contract §6: a text of 16-256 characters. */
export const WEBHOOK_SECRET_LENGTH = { minimum: 16, maximum: 256 } as const;

/** The key of an account as its owner sees it. */
export interface WebhookKey {
  readonly secret: string;
  readonly createdAt: Date;
  /** Until when the key before it signs too; undefined where none does. */
  readonly previousExpiresAt: Date | undefined;
}

/** `now` is in milliseconds since 1970: what signs depends on it, and a test advances it. */
export interface WebhookKeys {
  /** The secrets that sign at this moment: the current one first; none where the account has no key. */
  activeSecrets(database: Queryable, accountId: string, now: number): Promise<readonly string[]>;
  /** @returns undefined where the account has no key. */
  read(database: Queryable, accountId: string, now: number): Promise<WebhookKey | undefined>;
  /**
   * Makes a secret the account's current one. The one before signs beside it for 24 h. The secret that is current
   * already changes nothing.
   *
   * @throws {AccountNotFoundError}
   */
  replace(transaction: Queryable, accountId: string, secret: string, now: number): Promise<void>;
  /**
   * Looks whether what was stored last can be opened: beside another key than its own a restored database cannot.
   *
   * @throws {WrongEncryptionKeyError}
   */
  requireKeyOf(database: Queryable): Promise<void>;
  /** Takes the key away, the one before it too: callbacks are not signed from now on. */
  remove(transaction: Queryable, accountId: string): Promise<void>;
}

/** What is stored was sealed with another key: it can only be removed, and set anew. */
export class WrongEncryptionKeyError extends Error {
  override readonly name = 'WrongEncryptionKeyError';
}

interface ActiveRow {
  readonly secretCiphertext: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

const selectActive: Statement = {
  name: 'select_webhook_keys',
  text: `SELECT secret_ciphertext AS "secretCiphertext", created_at AS "createdAt", expires_at AS "expiresAt"
           FROM webhook_keys
          WHERE account_id = $1 AND (expires_at IS NULL OR expires_at > $2)
          ORDER BY id DESC`,
};
const selectNewest: Statement = {
  name: 'select_newest_webhook_key',
  text: `SELECT account_id AS "accountId", secret_ciphertext AS "secretCiphertext"
           FROM webhook_keys ORDER BY id DESC LIMIT 1`,
};
const expireCurrent: Statement = {
  name: 'expire_webhook_key',
  text: 'UPDATE webhook_keys SET expires_at = $2 WHERE account_id = $1 AND expires_at IS NULL',
};
const insertKey: Statement = {
  name: 'insert_webhook_key',
  text: 'INSERT INTO webhook_keys (account_id, secret_ciphertext, created_at) VALUES ($1, $2, $3)',
};
/** Secrets that sign no more are not kept. */
const deleteExpired: Statement = {
  name: 'delete_expired_webhook_keys',
  text: 'DELETE FROM webhook_keys WHERE account_id = $1 AND expires_at <= $2',
};
const deleteAll: Statement = { name: 'delete_webhook_keys', text: 'DELETE FROM webhook_keys WHERE account_id = $1' };

/** @param encryptionKey of the configuration; the cipher's key is derived from it for this purpose alone. */
export function createWebhookKeys(encryptionKey: string): WebhookKeys {
  const key = Buffer.from(hkdfSync('sha256', encryptionKey, '', 'darkroom webhook secrets v1', 32));

  const encrypt = (accountId: string, secret: string): Buffer => {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    cipher.setAAD(Buffer.from(accountId));
    const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
  };

  const decrypt = (accountId: string, sealed: Buffer): string => {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES));
    decipher.setAAD(Buffer.from(accountId));
    decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const opened = decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES));
    try {
      return Buffer.concat([opened, decipher.final()]).toString('utf8');
    } catch (error) {
      throw new WrongEncryptionKeyError(
        `ENCRYPTION_KEY is not the one that the signing key of ${accountId} was stored with`,
        { cause: error },
      );
    }
  };

  const readActive = (database: Queryable, accountId: string, now: number): Promise<readonly ActiveRow[]> =>
    database.query<ActiveRow>(selectActive, [accountId, new Date(now)]);

  const read: WebhookKeys['read'] = async (database, accountId, now) => {
    const [current, previous] = await readActive(database, accountId, now);
    if (current === undefined) return undefined;
    return {
      secret: decrypt(accountId, current.secretCiphertext),
      createdAt: current.createdAt,
      previousExpiresAt: previous?.expiresAt ?? undefined,
    };
  };

  return {
    async activeSecrets(database, accountId, now) {
      const rows = await readActive(database, accountId, now);
      return rows.map((row) => decrypt(accountId, row.secretCiphertext));
    },
    read,
    async requireKeyOf(database) {
      const [newest] = await database.query<{ accountId: string; secretCiphertext: Buffer }>(selectNewest);
      if (newest !== undefined) decrypt(newest.accountId, newest.secretCiphertext);
    },
    async replace(transaction, accountId, secret, now) {
      // Two at once would both be current otherwise.
      await lockAccount(transaction, accountId);
      const current = await read(transaction, accountId, now);
      if (current?.secret === secret) return;
      await transaction.query(deleteExpired, [accountId, new Date(now)]);
      await transaction.query(expireCurrent, [accountId, new Date(now + OVERLAP_MS)]);
      await transaction.query(insertKey, [accountId, encrypt(accountId, secret), new Date(now)]);
    },
    async remove(transaction, accountId) {
      await lockAccount(transaction, accountId);
      await transaction.query(deleteAll, [accountId]);
    },
  };
}

/**
 * The webhook signing secret of an account (spec §5.5): its own or one generated here, encrypted at rest, and
 * replaced with an overlap in which both secrets sign (contract §6: 24 h).
 */
import type { Database, Queryable, Statement } from '../database/database.ts';
import { lockAccount } from './accounts.ts';
import { createSecretCipher } from './secret-cipher.ts';
import { sampleSecrets } from './stored-secrets.ts';
import type { SecretCounts } from './stored-secrets.ts';

/** How long the previous secret also signs, in milliseconds (contract §6: "a rotation of 24 h"). */
const OVERLAP_MS = 24 * 3_600_000;

/** The signing secret of an account as its owner sees it. */
export interface WebhookKey {
  readonly secret: string;
  readonly createdAt: Date;
  /** Until when the previous secret signs too; undefined if none does. */
  readonly previousExpiresAt: Date | undefined;
}

/** `now` is in milliseconds since 1970: what signs depends on it, and a test advances it. */
export interface WebhookKeys {
  /**
   * The secrets that sign at this moment: the current one first; none if the account has no secret.
   *
   * @throws {WrongEncryptionKeyError} what is stored was encrypted with a key that was not given.
   */
  activeSecrets(database: Queryable, accountId: string, now: number): Promise<readonly string[]>;
  /** @returns undefined if the account has no secret. */
  read(database: Queryable, accountId: string, now: number): Promise<WebhookKey | undefined>;
  /**
   * Makes a secret the account's current one. The previous one also signs for 24 h. A secret that is already the
   * current one changes nothing.
   *
   * @throws {AccountNotFoundError}
   */
  replace(transaction: Queryable, accountId: string, secret: string, now: number): Promise<void>;
  /** Which keys decrypt what is stored: of the oldest and the newest 500 secrets. */
  countByKey(database: Database): Promise<SecretCounts>;
  /** Removes the secret, and the previous one too: callbacks are not signed from now on. */
  remove(transaction: Queryable, accountId: string): Promise<void>;
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
const expireCurrent: Statement = {
  name: 'expire_webhook_key',
  text: 'UPDATE webhook_keys SET expires_at = $2 WHERE account_id = $1 AND expires_at IS NULL',
};
const insertKey: Statement = {
  name: 'insert_webhook_key',
  text: 'INSERT INTO webhook_keys (account_id, secret_ciphertext, created_at) VALUES ($1, $2, $3)',
};
/** Secrets that no longer sign are not kept. */
const deleteExpired: Statement = {
  name: 'delete_expired_webhook_keys',
  text: 'DELETE FROM webhook_keys WHERE account_id = $1 AND expires_at <= $2',
};
const deleteAll: Statement = { name: 'delete_webhook_keys', text: 'DELETE FROM webhook_keys WHERE account_id = $1' };

/** @param encryptionKey encrypts what is stored from now on; `fallbacks` decrypt what is stored already. */
export function createWebhookKeys(encryptionKey: string, ...fallbacks: readonly string[]): WebhookKeys {
  const cipher = createSecretCipher(encryptionKey, ...fallbacks);

  const readActive = (database: Queryable, accountId: string, now: number): Promise<readonly ActiveRow[]> =>
    database.query<ActiveRow>(selectActive, [accountId, new Date(now)]);

  const read: WebhookKeys['read'] = async (database, accountId, now) => {
    const [current, previous] = await readActive(database, accountId, now);
    if (current === undefined) return undefined;
    return {
      secret: cipher.decrypt(accountId, current.secretCiphertext).secret,
      createdAt: current.createdAt,
      previousExpiresAt: previous?.expiresAt ?? undefined,
    };
  };

  return {
    async activeSecrets(database, accountId, now) {
      const rows = await readActive(database, accountId, now);
      return rows.map((row) => cipher.decrypt(accountId, row.secretCiphertext).secret);
    },
    read,
    countByKey: (database) => sampleSecrets(database, cipher),
    async replace(transaction, accountId, secret, now) {
      // Otherwise two at once would both be current.
      await lockAccount(transaction, accountId);
      const current = await read(transaction, accountId, now);
      if (current?.secret === secret) return;
      await transaction.query(deleteExpired, [accountId, new Date(now)]);
      await transaction.query(expireCurrent, [accountId, new Date(now + OVERLAP_MS)]);
      await transaction.query(insertKey, [accountId, cipher.encrypt(accountId, secret), new Date(now)]);
    },
    async remove(transaction, accountId) {
      await lockAccount(transaction, accountId);
      await transaction.query(deleteAll, [accountId]);
    },
  };
}

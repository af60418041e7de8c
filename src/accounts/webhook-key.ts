/**
 * The webhook signing key of an account (spec §5.5): its own secret or one made here, encrypted at rest, and replaced
 * with an overlap in which both keys sign (contract §6: 24 h).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Queryable, Statement } from '../database/database.ts';

/** Contract §6: "During rotation both keys sign for 24 h". */
const OVERLAP_HOURS = 24;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Contract §6: a text of 16-256 characters. */
export const WEBHOOK_SECRET_LENGTH = { minimum: 16, maximum: 256 } as const;

export interface WebhookKeys {
  /** The secrets that sign at this moment: the current one first; none where the account has no key. */
  activeSecrets(database: Queryable, accountId: string): Promise<readonly string[]>;
  /** Makes a secret the account's current one. The one before signs beside it for 24 h. */
  replace(transaction: Queryable, accountId: string, secret: string): Promise<void>;
}

const selectActive: Statement = {
  name: 'select_webhook_keys',
  text: `SELECT secret_ciphertext FROM webhook_keys
          WHERE account_id = $1 AND (expires_at IS NULL OR expires_at > now())
          ORDER BY id DESC`,
};
const expireCurrent: Statement = {
  name: 'expire_webhook_key',
  text: `UPDATE webhook_keys SET expires_at = now() + make_interval(hours => $2)
          WHERE account_id = $1 AND expires_at IS NULL`,
};
const insertKey: Statement = {
  name: 'insert_webhook_key',
  text: 'INSERT INTO webhook_keys (account_id, secret_ciphertext) VALUES ($1, $2)',
};

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
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
  };

  return {
    async activeSecrets(database, accountId) {
      const rows = await database.query<{ secret_ciphertext: Buffer }>(selectActive, [accountId]);
      return rows.map((row) => decrypt(accountId, row.secret_ciphertext));
    },
    async replace(transaction, accountId, secret) {
      await transaction.query(expireCurrent, [accountId, OVERLAP_HOURS]);
      await transaction.query(insertKey, [accountId, encrypt(accountId, secret)]);
    },
  };
}

/**
 * The settings of upstreams that operators have stored: the credential, encrypted, and the URL, by the name of the
 * provider or of the credential. Those of the environment come first (upstreams/upstream-settings.ts).
 */
import type { SecretCipher } from './secret-cipher.ts';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { canonicalName } from '../domain/upstream-names.ts';

/** One row, as it is stored. */
export interface StoredSetting {
  readonly name: string;
  readonly encrypted: Buffer | null;
  readonly baseUrl: string | null;
  readonly updatedAt: Date;
}

/** A change of a setting. What is undefined stays as it is; null removes it. */
export interface SettingChange {
  readonly secret?: string | null | undefined;
  readonly baseUrl?: string | null | undefined;
}

const selectAll: Statement = {
  name: 'select_upstream_settings',
  text: `SELECT name, secret_ciphertext AS encrypted, base_url AS "baseUrl", updated_at AS "updatedAt"
           FROM upstream_settings ORDER BY name`,
};
const selectOne: Statement = {
  name: 'select_upstream_setting',
  text: `SELECT name, secret_ciphertext AS encrypted, base_url AS "baseUrl", updated_at AS "updatedAt"
           FROM upstream_settings WHERE name = $1 FOR UPDATE`,
};
const upsert: Statement = {
  name: 'set_upstream_setting',
  text: `INSERT INTO upstream_settings (name, secret_ciphertext, base_url, updated_at) VALUES ($1, $2, $3, now())
         ON CONFLICT (name) DO UPDATE SET secret_ciphertext = $2, base_url = $3, updated_at = now()`,
};
const remove: Statement = {
  name: 'remove_upstream_setting',
  text: 'DELETE FROM upstream_settings WHERE name = $1',
};
const reencrypt: Statement = {
  name: 'reencrypt_upstream_setting',
  text: 'UPDATE upstream_settings SET secret_ciphertext = $3 WHERE name = $1 AND secret_ciphertext = $2 RETURNING name',
};

/** What the ciphertext of a setting is bound to: no account has such an id. */
export function ownerOf(name: string): string {
  return `upstream:${canonicalName(name)}`;
}

/** All of them: there are about as many as providers. */
export async function readStoredSettings(database: Queryable): Promise<readonly StoredSetting[]> {
  return database.query<StoredSetting>(selectAll);
}

/** Changes the settings of one name. A name without settings has no row. */
export async function storeSetting(
  database: Database,
  cipher: SecretCipher,
  name: string,
  change: SettingChange,
): Promise<void> {
  const canonical = canonicalName(name);
  await database.transaction(async (transaction) => {
    const [before] = await transaction.query<StoredSetting>(selectOne, [canonical]);
    const encrypted =
      typeof change.secret === 'string'
        ? cipher.encrypt(ownerOf(canonical), change.secret)
        : change.secret === undefined
          ? (before?.encrypted ?? null)
          : null;
    const baseUrl = change.baseUrl === undefined ? (before?.baseUrl ?? null) : change.baseUrl;
    if (encrypted === null && baseUrl === null) await transaction.query(remove, [canonical]);
    else await transaction.query(upsert, [canonical, encrypted, baseUrl]);
  });
}

/** Replaces a ciphertext if it is still the one that was read. @returns whether it was. */
export async function reencryptSetting(
  database: Queryable,
  { name, encrypted }: { readonly name: string; readonly encrypted: Buffer },
  replacement: Buffer,
): Promise<boolean> {
  return (await database.query(reencrypt, [name, encrypted, replacement])).length > 0;
}

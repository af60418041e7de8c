/**
 * All stored secrets at once, those that sign callbacks and the credentials of upstreams: which keys decrypt them, and reencrypting those that need a fallback. Each row is changed
 * by itself and only if it is still what was read, so that this can be interrupted, repeated, and run at the same time
 * as processes that replace secrets at the same moment.
 */
import type { Database, Statement } from '../database/database.ts';
import { ownerOf, readStoredSettings, reencryptSetting } from './stored-upstream-settings.ts';
import { WrongEncryptionKeyError } from './secret-cipher.ts';
import type { SecretCipher } from './secret-cipher.ts';

/** Numbers of stored secrets by the key that decrypts them. */
export interface SecretCounts {
  readonly total: number;
  /** Decrypted by the current key. */
  readonly current: number;
  /** Decrypted by a fallback: it must stay in the configuration. */
  readonly fallback: number;
  /** Decrypted by none of the keys. */
  readonly undecryptable: number;
  /** Accounts of those, twenty at most. */
  readonly undecryptableAccounts: readonly string[];
  /** Upstreams of those. */
  readonly undecryptableUpstreams: readonly string[];
}

interface Row {
  readonly id: bigint;
  readonly accountId: string;
  readonly encrypted: Buffer;
}

const selectBatch: Statement = {
  name: 'select_stored_secrets',
  text: `SELECT id, account_id AS "accountId", secret_ciphertext AS encrypted
           FROM webhook_keys WHERE id > $1 ORDER BY id LIMIT $2`,
};
/** The oldest, which a rotation that was not finished left behind, and the newest, which every process has to read. */
const selectSample: Statement = {
  name: 'select_secret_sample',
  text: `SELECT id, account_id AS "accountId", secret_ciphertext AS encrypted FROM (
           (SELECT * FROM webhook_keys ORDER BY id LIMIT $1) UNION
           (SELECT * FROM webhook_keys ORDER BY id DESC LIMIT $1)) sample`,
};
const updateSecret: Statement = {
  name: 'reencrypt_stored_secret',
  text: 'UPDATE webhook_keys SET secret_ciphertext = $3 WHERE id = $1 AND secret_ciphertext = $2 RETURNING id',
};

const SAMPLE_ROWS = 500;
const MOST_ACCOUNTS_NAMED = 20;

/**
 * Counts the oldest and the newest 500, which is all of them for most installations: a process does this when it
 * starts.
 */
export async function sampleSecrets(database: Database, cipher: SecretCipher): Promise<SecretCounts> {
  const tally = new Tally(cipher);
  for (const row of await database.query<Row>(selectSample, [SAMPLE_ROWS])) tally.add(row);
  await tally.addUpstreams(database);
  return tally.counts();
}

/** Counts all. @param batchSize rows that are read at a time. */
export async function countSecrets(database: Database, cipher: SecretCipher, batchSize: number): Promise<SecretCounts> {
  const tally = new Tally(cipher);
  await eachBatch(database, batchSize, (rows) => {
    for (const row of rows) tally.add(row);
    return Promise.resolve();
  });
  await tally.addUpstreams(database);
  return tally.counts();
}

/**
 * Encrypts with the current key what only a fallback decrypts.
 *
 * @param onProgress called after each batch with how many were read and changed so far.
 * @returns how many were changed.
 */
export async function reencryptSecrets(
  database: Database,
  cipher: SecretCipher,
  batchSize: number,
  onProgress: (progress: { readonly seen: number; readonly reencrypted: number }) => void,
): Promise<number> {
  let [seen, reencrypted] = [0, 0];
  await eachBatch(database, batchSize, async (rows) => {
    for (const { id, accountId, encrypted } of rows) {
      const found = tryDecrypt(cipher, { accountId, encrypted });
      if (found === undefined || found.isCurrent) continue;
      const changed = await database.query(updateSecret, [id, encrypted, cipher.encrypt(accountId, found.secret)]);
      reencrypted += changed.length;
    }
    seen += rows.length;
    onProgress({ seen, reencrypted });
  });
  for (const { name, encrypted } of await readStoredSettings(database)) {
    if (encrypted === null) continue;
    seen++;
    const owner = ownerOf(name);
    const found = tryDecrypt(cipher, { accountId: owner, encrypted });
    if (found === undefined || found.isCurrent) continue;
    const isReplaced = await reencryptSetting(database, { name, encrypted }, cipher.encrypt(owner, found.secret));
    if (isReplaced) reencrypted++;
    onProgress({ seen, reencrypted });
  }
  return reencrypted;
}

async function eachBatch(
  database: Database,
  batchSize: number,
  work: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  for (let after = 0n; ;) {
    const rows = await database.query<Row>(selectBatch, [after, batchSize]);
    const last = rows.at(-1);
    if (last === undefined) return;
    await work(rows);
    after = last.id;
  }
}

function tryDecrypt(cipher: SecretCipher, { accountId, encrypted }: Omit<Row, 'id'>) {
  try {
    return cipher.decrypt(accountId, encrypted);
  } catch (error) {
    if (error instanceof WrongEncryptionKeyError) return undefined;
    throw error;
  }
}

class Tally {
  readonly #cipher: SecretCipher;
  readonly #undecryptableAccounts = new Set<string>();
  readonly #undecryptableUpstreams: string[] = [];
  #current = 0;
  #fallback = 0;
  #undecryptable = 0;

  constructor(cipher: SecretCipher) {
    this.#cipher = cipher;
  }

  add(row: Row): void {
    if (this.#count(row)) return;
    if (this.#undecryptableAccounts.size < MOST_ACCOUNTS_NAMED) this.#undecryptableAccounts.add(row.accountId);
  }

  async addUpstreams(database: Database): Promise<void> {
    for (const { name, encrypted } of await readStoredSettings(database)) {
      if (encrypted === null || this.#count({ accountId: ownerOf(name), encrypted })) continue;
      this.#undecryptableUpstreams.push(name);
    }
  }

  /** @returns whether a key decrypts it. */
  #count(row: Omit<Row, 'id'>): boolean {
    const found = tryDecrypt(this.#cipher, row);
    if (found?.isCurrent === true) this.#current++;
    else if (found !== undefined) this.#fallback++;
    else this.#undecryptable++;
    return found !== undefined;
  }

  counts(): SecretCounts {
    return {
      total: this.#current + this.#fallback + this.#undecryptable,
      current: this.#current,
      fallback: this.#fallback,
      undecryptable: this.#undecryptable,
      undecryptableAccounts: [...this.#undecryptableAccounts],
      undecryptableUpstreams: this.#undecryptableUpstreams,
    };
  }
}

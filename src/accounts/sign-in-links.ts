/**
 * Links that sign in to the dashboard: each starts one session of one key, once, within ten minutes. The link
 * contains a secret of its own, which only a POST redeems, so that neither a preview of the link nor a log of
 * URLs uses it up or discloses it.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { hashSecret, isSecret, newSecret } from './sessions.ts';

export const SIGN_IN_LINK_SECONDS = 600;

/** A newly created link. The secret exists nowhere else. */
export interface NewSignInLink {
  readonly secret: string;
  readonly expiresAt: Date;
}

const deleteExpired: Statement = {
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
  await database.query(deleteExpired, [new Date(now)]);
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

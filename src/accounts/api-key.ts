/**
 * The form of an API key: `dk_live_<id 10 base62>_<secret 43 base62><crc32 6 base62>` (contract §7). The checksum
 * lets a mistyped or truncated key be rejected without a lookup; only the secret's SHA-256 is ever stored.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62, randomBase62 } from '../domain/ids.ts';

const ID_LENGTH = 10;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

const API_KEY = formWith('dk_live_');
/** A short-lived token (tokens.ts): the rest is as in a key. */
const TOKEN = formWith('dk_temp_');

function formWith(prefix: string): RegExp {
  return new RegExp(
    `^(${prefix}([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}}))([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
  );
}

const TOKEN_ID = new RegExp(`^tok_[0-9A-Za-z]{${ID_LENGTH}}$`);
const API_KEY_ID = new RegExp(`^[0-9A-Za-z]{${ID_LENGTH}}$`);

/** A newly created key: the secret is shown once, the rest is stored. */
export interface NewApiKey {
  readonly id: string;
  readonly secret: string;
  readonly secretSha256: Buffer;
}

/** Creates a key from the system's randomness. */
export function newApiKey(): NewApiKey {
  return newSecret('dk_live_');
}

function newSecret(prefix: string): NewApiKey {
  const id = randomBase62(ID_LENGTH);
  const random = randomBase62(SECRET_LENGTH);
  const body = `${prefix}${id}_${random}`;
  return { id, secret: `${body}${base62(crc32(body), CHECKSUM_LENGTH)}`, secretSha256: hashSecret(random) };
}

export type TokenSecret = NewApiKey;

/** Creates a token from the system's randomness. */
export function newToken(): TokenSecret {
  const { id, ...rest } = newSecret('dk_temp_');
  return { id: `tok_${id}`, ...rest };
}

/** The same for a presented token. */
export function parseToken(text: string): { readonly id: string; readonly secretSha256: Buffer } | undefined {
  const parsed = parseSecret(TOKEN, text);
  return parsed === undefined ? undefined : { ...parsed, id: `tok_${parsed.id}` };
}

/** The parts of a presented key, or undefined if its form or checksum is wrong. */
export function parseApiKey(text: string): { readonly id: string; readonly secretSha256: Buffer } | undefined {
  return parseSecret(API_KEY, text);
}

function parseSecret(form: RegExp, text: string): { readonly id: string; readonly secretSha256: Buffer } | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, body = '', id = '', secret = '', checksum] = match;
  if (base62(crc32(body), CHECKSUM_LENGTH) !== checksum) return undefined;
  return { id, secretSha256: hashSecret(secret) };
}

/** Whether a string can be the id of a token. */
export function isTokenId(text: string): boolean {
  return TOKEN_ID.test(text);
}

/** Whether a string can be the id of a key. */
export function isApiKeyId(text: string): boolean {
  return API_KEY_ID.test(text);
}

/** Compares a presented secret's hash with the stored one in constant time. */
export function secretsMatch(presented: Buffer, stored: Buffer): boolean {
  return presented.length === stored.length && timingSafeEqual(presented, stored);
}

function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

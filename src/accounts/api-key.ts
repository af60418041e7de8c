/**
 * The form of an API key: `dk_live_<id 10 base62>_<secret 43 base62><crc32 6 base62>` (contract §7). The checksum
 * lets a mistyped or truncated key be rejected without a lookup; only the secret's SHA-256 is ever stored.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62, randomBase62 } from '../domain/ids.ts';

export { SCOPES } from '@darkroom/api/facts/scopes';
export type { Scope } from '@darkroom/api/facts/scopes';

const ID_LENGTH = 10;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

const API_KEY = new RegExp(
  `^(dk_live_([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}}))([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

const API_KEY_ID = new RegExp(`^[0-9A-Za-z]{${ID_LENGTH}}$`);

/** A newly created key: the secret is shown once, the rest is stored. */
export interface NewApiKey {
  readonly id: string;
  readonly secret: string;
  readonly secretSha256: Buffer;
}

/** Creates a key from the system's randomness. */
export function newApiKey(): NewApiKey {
  const id = randomBase62(ID_LENGTH);
  const random = randomBase62(SECRET_LENGTH);
  const body = `dk_live_${id}_${random}`;
  return { id, secret: `${body}${base62(crc32(body), CHECKSUM_LENGTH)}`, secretSha256: hashSecret(random) };
}

/** The parts of a presented key, or undefined if its form or checksum is wrong. */
export function parseApiKey(text: string): { readonly id: string; readonly secretSha256: Buffer } | undefined {
  const match = API_KEY.exec(text);
  if (match === null) return undefined;
  const [, body = '', id = '', secret = '', checksum] = match;
  if (base62(crc32(body), CHECKSUM_LENGTH) !== checksum) return undefined;
  return { id, secretSha256: hashSecret(secret) };
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

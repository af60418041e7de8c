/**
 * The keys of the URLs that we sign, derived from `URL_SIGNING_KEY` and its fallbacks (docs/decisions/0027): one for
 * new URLs, and all of them accepted.
 *
 * What is sent to a provider contains URLs, and a provider that knows a task by its id compares the attempts. They
 * are signed with the key that was current when the task was begun, which the task's row names, for as long as that
 * key is accepted at all.
 */
import { createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const MIN_KEY_LENGTH = 32;
const ID_PURPOSE = 'darkroom/url-key-id/v1';
const ID_BYTES = 8;

export interface UrlKeyOptions {
  /** At least 32 characters. */
  readonly signingKey: string;
  /** Keys whose URLs are accepted, and with which no task is begun: the next key, or the previous one. */
  readonly signingKeyFallbacks?: readonly string[] | undefined;
}

export interface UrlKeys {
  /** The name of the current key. */
  readonly currentId: string;
  /** The current one first. */
  readonly accepted: readonly KeyObject[];
  /** The key of this name; the current one where none is named, or none of that name exists any more. */
  find(id: string | null | undefined): KeyObject;
}

/**
 * @param purpose binds what is derived to one kind of URL.
 * @throws {RangeError} a key is too short.
 */
export function deriveUrlKeys({ signingKey, signingKeyFallbacks = [] }: UrlKeyOptions, purpose: string): UrlKeys {
  const currentId = urlKeyId(signingKey);
  const current = deriveKey(signingKey, purpose);
  const byId = new Map([[currentId, current]]);
  for (const fallback of signingKeyFallbacks) byId.set(urlKeyId(fallback), deriveKey(fallback, purpose));
  return {
    currentId,
    accepted: [...byId.values()],
    find: (id) => byId.get(id ?? currentId) ?? current,
  };
}

/** The name of a signing key: no secret, and the same in every process. */
export function urlKeyId(signingKey: string): string {
  return Buffer.from(hkdfSync('sha256', signingKey, '', ID_PURPOSE, ID_BYTES)).toString('base64url');
}

function deriveKey(signingKey: string, purpose: string): KeyObject {
  if (signingKey.length < MIN_KEY_LENGTH) throw new RangeError('the signing key needs at least 32 characters');
  return createSecretKey(Buffer.from(hkdfSync('sha256', signingKey, '', purpose, 32)));
}

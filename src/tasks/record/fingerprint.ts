/**
 * How requests under one Idempotency-Key are distinguished: the fingerprint in the database, and a hash in the
 * histories of workflows.
 */
import { createHash } from 'node:crypto';
import { DEFAULT_ROUTE } from '../../catalogue/definition.ts';
import { canonicalJson } from '../../domain/json.ts';

export interface Fingerprint {
  readonly hash: Buffer;
  readonly version: number;
}

/** Version 1: SHA-256 over canonical JSON, in which `route` absent, `""` and `"default"` are one. */
const VERSION = 1;

/**
 * Whether two requests with one Idempotency-Key are the same request (contract §2): over the parsed body before any
 * default is filled in. The version is stored with it, so that the rule can change without breaking old keys.
 */
export function fingerprint(body: Readonly<Record<string, unknown>>): Fingerprint {
  const { route, ...rest } = body;
  const named = route === undefined || route === '' || route === DEFAULT_ROUTE ? rest : body;
  return { hash: createHash('sha256').update(canonicalJson(named)).digest(), version: VERSION };
}

/** The length of a request's hash in hexadecimal digits: enough to distinguish two requests. */
const REQUEST_HASH_DIGITS = 16;

/** SQL that computes the same hash for a row of `tasks`. */
export const REQUEST_HASH = `left(encode(sha256(convert_to(idempotency_key, 'UTF8') || fingerprint), 'hex'), ${REQUEST_HASH_DIGITS})`;

/**
 * What distinguishes the requests in a workflow's history, where the database has lost the first of them
 * (docs/decisions/0005). It is salted with the key, which no history contains: with the fingerprint alone, a reader of
 * histories could try out prompts. A task without a key has none, because no other request can replace it.
 *
 * @returns lower-case hex; null without a key.
 */
export function requestHashOf(idempotencyKey: string | undefined, { hash }: Fingerprint): string | null {
  if (idempotencyKey === undefined) return null;
  return createHash('sha256').update(idempotencyKey).update(hash).digest('hex').slice(0, REQUEST_HASH_DIGITS);
}

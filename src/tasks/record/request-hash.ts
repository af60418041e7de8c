/**
 * What distinguishes requests under one Idempotency-Key in a workflow's history, where the database has lost the
 * first of them (docs/decisions/0005). It is salted with the key, which no history contains: with the fingerprint
 * alone, a reader of histories could try out prompts. A task without a key has none, because no other request can
 * replace it.
 */
import { createHash } from 'node:crypto';
import type { Fingerprint } from './fingerprint.ts';

/** The length of the hash in hexadecimal digits: enough to distinguish two requests. */
const DIGITS = 16;

/** SQL that computes the same hash for a row of `tasks`. */
export const REQUEST_HASH = `left(encode(sha256(convert_to(idempotency_key, 'UTF8') || fingerprint), 'hex'), ${DIGITS})`;

/** @returns lower-case hex; null without a key. */
export function requestHashOf(idempotencyKey: string | undefined, { hash }: Fingerprint): string | null {
  if (idempotencyKey === undefined) return null;
  return createHash('sha256').update(idempotencyKey).update(hash).digest('hex').slice(0, DIGITS);
}

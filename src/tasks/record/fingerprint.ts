/**
 * Whether two requests with one Idempotency-Key are the same request (contract §2): over the parsed body before any
 * default is filled in. The version is stored with it, so that the rule can change without breaking old keys.
 */
import { createHash } from 'node:crypto';
import { DEFAULT_ROUTE } from '../../catalogue/definition.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';

export interface Fingerprint {
  readonly hash: Buffer;
  readonly version: number;
}

/** Version 1: SHA-256 over canonical JSON, in which `route` absent, `""` and `"default"` are one. */
const VERSION = 1;

export function fingerprint(body: Readonly<Record<string, unknown>>): Fingerprint {
  const { route, ...rest } = body;
  const named = route === undefined || route === '' || route === DEFAULT_ROUTE ? rest : body;
  return { hash: createHash('sha256').update(canonicalJson(named)).digest(), version: VERSION };
}

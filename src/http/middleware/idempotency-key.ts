/**
 * The `Idempotency-Key` header (spec §4.1, contract §2): 1-255 visible ASCII characters; quoted and bare forms of the
 * same text are one key.
 */
import { invalidRequest } from '../app/errors.ts';

/** Whether a text has the form of a key. */
export function isIdempotencyKey(text: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(text);
}

/**
 * @param headers every value that was sent under the name.
 * @throws {RequestError} 400: the header does not have that form, or was sent twice.
 */
export function parseIdempotencyKey(headers: readonly string[] | undefined): string | undefined {
  if (headers === undefined) return undefined;
  const [header = ''] = headers;
  const trimmed = header.trim();
  const key = /^"(.*)"$/.exec(trimmed)?.[1] ?? trimmed;
  if (headers.length !== 1 || !isIdempotencyKey(key)) {
    throw invalidRequest('invalid request: Idempotency-Key: want 1 to 255 visible ASCII characters, given once');
  }
  return key;
}

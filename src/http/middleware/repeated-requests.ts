/**
 * What a repetition of a request is recognised by: its `Idempotency-Key` (spec §4.1, contract §2), or that it is one of
 * those which OpenAI's clients send by themselves if a response did not arrive (docs/decisions/0009).
 */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import { IdempotencyMismatchError } from '../../tasks/create/used-keys.ts';
import { fingerprint } from '../../tasks/record/fingerprint.ts';
import type { Fingerprint } from '../../tasks/record/fingerprint.ts';
import { invalidRequest } from '../app/errors.ts';

/** Whether a text has the form of a key: 1-255 visible ASCII characters. */
export function isIdempotencyKey(text: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(text);
}

/**
 * Reads the header. Quoted and bare forms of the same text are one key.
 *
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

/**
 * What a request is recognised by when it is repeated and its response contains what was made: automatically, or with
 * an Idempotency-Key. A short-lived token that may not read tasks recognises its own requests only, because an equal
 * request of its key may be that of another token's user.
 *
 * @param sent the request with its path, as it was sent.
 */
export function resultFingerprint(caller: Recognised, sent: Readonly<Record<string, unknown>>): Fingerprint {
  return fingerprint(findsAnyEqual(caller) ? sent : { ...sent, token: caller.tokenId });
}

type Recognised = Pick<Caller, 'tokenId' | 'scopes'>;

function findsAnyEqual({ tokenId, scopes }: Recognised): boolean {
  return tokenId === undefined || scopes.has('tasks:read');
}

/** An error as it is for the caller of `resultFingerprint`: its request may be equal to one of another credential. */
export function mismatchFor(caller: Recognised, error: unknown): unknown {
  if (!(error instanceof IdempotencyMismatchError) || findsAnyEqual(caller)) return error;
  return new IdempotencyMismatchError('with a different request body or by another credential', { cause: error });
}

/** Whether a client has repeated a request by itself. */
export function isAutomaticRetry(ctx: Pick<ParameterizedContext, 'get'>): boolean {
  return /^[1-9]\d{0,5}$/.test(ctx.get('X-Stainless-Retry-Count'));
}

/** @param end called once, with whether the whole response was sent. */
export function whenClosed(res: ServerResponse, end: (isFinished: boolean) => void): void {
  if (res.closed || res.destroyed) {
    end(false);
    return;
  }
  let isFinished = false;
  res.once('finish', () => {
    isFinished = true;
  });
  res.once('close', () => end(isFinished));
}

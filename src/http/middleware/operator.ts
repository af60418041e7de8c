/**
 * Access to the operator routes: clients send the one token of the configuration. It is not an API key, and no API
 * key is accepted in its place (contract, "Conventions": the admin listener).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { countFailedAuthentication } from './failed-authentication.ts';

/** @throws {RequestError} 401. @throws {RateLimitedError} too many attempts with a 401 from this address. */
export async function requireOperator(http: HttpContext, request: IncomingMessage): Promise<void> {
  const headers = request.headersDistinct['authorization'] ?? [];
  const presented = headers.length === 1 ? /^Bearer +(\S+)$/i.exec(headers[0] ?? '')?.[1] : undefined;
  const token = http.config.admin?.token;
  if (token !== undefined && presented !== undefined && isSame(presented, token)) return;
  await countFailedAuthentication(http, request);
  throw new RequestError(
    'unauthenticated',
    'the admin token is missing or not valid; send Authorization: Bearer <ADMIN_TOKEN>',
  );
}

/** Takes the same time for a wrong token as for the right one, whatever its length. */
function isSame(presented: string, token: string): boolean {
  return timingSafeEqual(hash(presented), hash(token));
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

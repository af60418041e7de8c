/**
 * The limit on attempts without a usable key or token from one address (contract §7). Whoever has a good one is served,
 * whatever others of the same address try: a failure is counted after it happened.
 */
import type { IncomingMessage } from 'node:http';
import { DatabaseUnavailableError } from '../database/database.ts';
import { RateLimitedError } from '../limits/rate-limiter.ts';
import { addressBlock } from './client-address.ts';
import type { HttpContext } from './context.ts';

/** The contract names such a limit and no number. */
const FAILURES_PER_MINUTE = 60;

/** @throws {RateLimitedError} once too often from this address. */
export async function countFailedAuthentication(http: HttpContext, request: IncomingMessage): Promise<void> {
  const budget = { id: `auth:${addressBlock(http.clientAddress(request))}`, perMinute: FAILURES_PER_MINUTE };
  const waitSeconds = await http.rateLimiter.take(budget).catch((error: unknown) => {
    // A malformed key needs no database to be refused.
    if (error instanceof DatabaseUnavailableError) return 0;
    throw error;
  });
  if (waitSeconds > 0) throw new RateLimitedError(waitSeconds);
}

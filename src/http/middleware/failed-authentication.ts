/**
 * The limit on attempts without a usable key or token from one address (contract §7). Whoever has a good one is served,
 * whatever others of the same address try: a failure is counted after it happened.
 */
import type { IncomingMessage } from 'node:http';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import type { Budget } from '../../limits/rate-limiter.ts';
import { addressBlock } from '../app/client-address.ts';
import type { HttpContext } from '../app/context.ts';

/** Contract §7.2. */
const FAILURES_PER_MINUTE = 60;

function budgetOf(http: HttpContext, request: IncomingMessage): Budget {
  return { id: `auth:${addressBlock(http.clientAddress(request))}`, perMinute: FAILURES_PER_MINUTE };
}

/** Counts a rejected attempt. @throws {RateLimitedError} once too often from this address. */
export async function countFailedAuthentication(http: HttpContext, request: IncomingMessage): Promise<void> {
  const budget = budgetOf(http, request);
  const waitSeconds = await http.rateLimiter.take(budget).catch((error: unknown) => {
    // A malformed key needs no database to be refused; it is counted in this process until there is one again.
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    http.rateLimiter.spendLocally(budget, 1);
    return 0;
  });
  if (waitSeconds > 0) throw new RateLimitedError(waitSeconds);
}

/**
 * Counts an attempt that nobody could check, because the database was not available: otherwise guesses would be free as
 * long as somebody keeps it busy. Asks no database itself.
 */
export function countUncheckedAuthentication(http: HttpContext, request: IncomingMessage): void {
  http.rateLimiter.spendLocally(budgetOf(http, request), 1);
}

/**
 * The limit on attempts without a valid key or token from one address (contract §7). Clients with valid credentials
 * are served, whatever other clients at the same address try: a failure is counted after it happened.
 */
import type { IncomingMessage } from 'node:http';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import type { Budget } from '../../limits/rate-limiter.ts';
import { addressBlock } from '../app/client-address.ts';
import type { HttpContext } from '../app/context.ts';

/** The maximum number of failed attempts per minute from one IP address (contract §7.2). */
const FAILURES_PER_MINUTE = 60;

function budgetOf(http: HttpContext, request: IncomingMessage): Budget {
  return { id: `auth:${addressBlock(http.clientAddress(request))}`, perMinute: FAILURES_PER_MINUTE };
}

/** Counts a rejected attempt. @throws {RateLimitedError} too many from this address. */
export async function countFailedAuthentication(http: HttpContext, request: IncomingMessage): Promise<void> {
  const budget = budgetOf(http, request);
  const waitSeconds = await http.rateLimiter.take(budget).catch((error: unknown) => {
    // A malformed key is rejected without the database; until the database is back, it is counted in this process.
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    http.rateLimiter.spendLocally(budget, 1);
    return 0;
  });
  if (waitSeconds > 0) throw new RateLimitedError(waitSeconds);
}

/**
 * Counts an attempt that could not be checked because the database was unavailable: otherwise an attacker could guess
 * without limit for as long as it occupies the database. Makes no database query itself.
 */
export function countUncheckedAuthentication(http: HttpContext, request: IncomingMessage): void {
  http.rateLimiter.spendLocally(budgetOf(http, request), 1);
}

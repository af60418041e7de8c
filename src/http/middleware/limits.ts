/**
 * What accounts and addresses may request (contract §7, §9): budgets per minute, with the headers that say what remains
 * of them, and shares of what a process can do at once.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import { timeOutMs } from '../../config/time-outs.ts';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import type { Budget } from '../../limits/rate-limiter.ts';
import { createTenantShares } from '../../limits/tenant-shares.ts';
import type { TenantShares } from '../../limits/tenant-shares.ts';
import type { ShareMetrics } from '../../telemetry/metrics.ts';
import { addressBlock } from '../app/client-address.ts';
import type { HttpContext, RequestState } from '../app/context.ts';

/** The maximum number of failed attempts per minute from one IP address (contract §7.2). */
const FAILURES_PER_MINUTE = 60;
/** The maximum number of waiting reads. Further requests would only wait until it is too late to respond. */
const WAITING_READS = { perTenant: 100, perProcess: 1_000 };
/**
 * The longest wait of a read, in milliseconds: as long as a request waits for a connection (src/database/database.ts).
 */
export const EXPENSIVE_WAIT_MS = timeOutMs(5_000);
/** `Retry-After` in seconds. A stream lasts as long as its task, so one may have ended by then. */
const RETRY_WAITING_SECONDS = 5;

/** The account's budget of creating requests. */
export function createBudget(caller: Caller): Budget {
  return { id: `create:${caller.accountId}`, perMinute: caller.createsPerMinute };
}

/** The account's budget of all other requests, except text calls. */
export function readBudget(caller: Caller): Budget {
  return { id: `read:${caller.accountId}`, perMinute: caller.readsPerMinute };
}

/** The account's budget of text calls. */
export function textBudget(caller: Caller): Budget {
  return { id: `text:${caller.accountId}`, perMinute: caller.textRequestsPerMinute };
}

type Responding = Pick<ParameterizedContext<RequestState>, 'set'>;

/** Sets the headers that every authenticated response has. */
export function setRateLimitHeaders(http: Pick<HttpContext, 'rateLimiter'>, ctx: Responding, budget: Budget): void {
  const { limit, remaining, resetAt } = http.rateLimiter.state(budget);
  ctx.set('X-RateLimit-Limit', String(limit));
  ctx.set('X-RateLimit-Remaining', String(remaining));
  ctx.set('X-RateLimit-Reset', String(resetAt));
}

/** The headers of every response of the endpoints that OpenAI's clients use, with a line for each. */
export const OPENAI_LIMIT_HEADERS = {
  'x-ratelimit-limit-requests': 'The number of requests of this kind that are allowed per minute.',
  'x-ratelimit-remaining-requests': 'The number of requests of this kind that are allowed now.',
  'x-ratelimit-reset-requests': 'The time until the full limit is available again, for example `12s`.',
};

/** @param kind what the budget counts. */
export function setOpenAiLimitHeaders(
  http: Pick<HttpContext, 'rateLimiter' | 'now'>,
  ctx: Responding,
  kind: 'requests' | 'tokens',
  budget: Budget,
): void {
  const { limit, remaining, resetAt } = http.rateLimiter.state(budget);
  ctx.set(`x-ratelimit-limit-${kind}`, String(limit));
  ctx.set(`x-ratelimit-remaining-${kind}`, String(remaining));
  ctx.set(`x-ratelimit-reset-${kind}`, `${Math.max(0, resetAt - Math.floor(http.now() / 1000))}s`);
}

/** Sets the `x-ratelimit-*` headers of a text response to the current state. */
export function setTextLimitHeaders(http: HttpContext, ctx: Responding, caller: Caller): void {
  setOpenAiLimitHeaders(http, ctx, 'requests', textBudget(caller));
  setOpenAiLimitHeaders(http, ctx, 'tokens', http.textAnswers.tokenBudget(caller));
}

/**
 * Counts an attempt without a valid key or token, after it was rejected: clients with valid credentials are served,
 * whatever other clients at the same address try.
 *
 * @throws {RateLimitedError} too many from this address.
 */
export async function countFailedAuthentication(http: HttpContext, request: IncomingMessage): Promise<void> {
  const budget = failureBudget(http, request);
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
  http.rateLimiter.spendLocally(failureBudget(http, request), 1);
}

function failureBudget(http: HttpContext, request: IncomingMessage): Budget {
  return { id: `auth:${addressBlock(http.clientAddress(request))}`, perMinute: FAILURES_PER_MINUTE };
}

/**
 * The reads that may take long and are in progress in one process: lists and sums, whose statements hold a database
 * connection for as long as their filters make them run. Together they may use half of the pool, and one account at
 * most as many connections as it leaves free, so that no account's lists keep others, or creates and settlements, from
 * a connection.
 *
 * @param poolSize connections of this process to the database.
 */
export function createExpensiveReads(poolSize: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'expensive_reads',
    capacity: Math.max(1, Math.floor(poolSize / 2)),
    leavesFree: true,
    waiting: WAITING_READS,
    retryAfterSeconds: 2,
    metrics,
  });
}

/**
 * Responses that wait for something to happen and hold a connection meanwhile: event streams, long polls, tool calls.
 * Of the connections that are allowed, an account holds at most as many as it leaves free, so that others always find
 * some. Text calls have a separate limit for each account.
 *
 * @param maxConnections of the listener; 0: no limit, and so none here either.
 */
export function createWaitingResponses(maxConnections: number, metrics?: ShareMetrics): TenantShares {
  return createTenantShares({
    resource: 'waiting_answers',
    ...(maxConnections > 0 ? { capacity: maxConnections, leavesFree: true } : {}),
    retryAfterSeconds: RETRY_WAITING_SECONDS,
    metrics,
  });
}

/**
 * Takes a share for a response until its connection is closed.
 *
 * @throws {ShareExhaustedError}
 */
export async function holdShareUntilClosed(
  shares: TenantShares,
  accountId: string,
  response: ServerResponse,
): Promise<void> {
  const lease = await shares.take(accountId);
  if (response.closed || response.destroyed) lease.release();
  else response.once('close', () => lease.release());
}

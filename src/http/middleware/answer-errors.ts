/**
 * The middleware that answers errors: whatever is thrown further down becomes a response here, and what the operator
 * has to know of it is logged. Every request gets its id here, and every response the security headers.
 */
import type { Context, Middleware, Next } from 'koa';
import { InsufficientBalanceError } from '../../billing/ledger.ts';
import type { HttpConfig } from '../../config/listeners.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { newId } from '../../domain/ids.ts';
import { formatUsd } from '../../domain/money.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { errorFormOf, problemBody, problemOf } from '../app/errors.ts';
import type { ErrorForm, HttpProblem } from '../app/errors.ts';
import { cameByHttps, requireSoundHead } from './guards.ts';
import { matchedRoute } from './request-telemetry.ts';
import { SECURITY_HEADERS, STRICT_TRANSPORT_SECURITY } from './response-headers.ts';

/** A client's own request id is echoed only in this form (contract §1). */
const REQUEST_ID = /^[\w-]{1,64}$/;

/** How long a 402 of an account is not logged again, in milliseconds. */
const QUIET_MS = 600_000;
/** The maximum number of accounts whose last line is remembered; an evicted account may get one line too many. */
const MAX_REMEMBERED = 1_000;

/**
 * Gives the request its id and its response the security headers, and maps errors thrown further down to responses.
 *
 * @param listener how the listener is protected.
 */
export function answerErrors(http: HttpContext, listener: HttpConfig): Middleware<RequestState> {
  const logBalance = createBalanceLog(http);
  return async (ctx: Context, next: Next) => {
    const presented = ctx.get('X-Request-Id');
    const requestId = REQUEST_ID.test(presented) ? presented : newId('req');
    ctx['state']['requestId'] = requestId;
    ctx.set('X-Request-Id', requestId);
    for (const [name, value] of SECURITY_HEADERS) ctx.res.setHeader(name, value);
    if (cameByHttps(ctx, listener)) ctx.res.setHeader(...STRICT_TRANSPORT_SECURITY);
    let form = formOfHead(ctx);
    try {
      requireSoundHead(ctx);
      form = errorFormOf(ctx.path);
      await next();
    } catch (error) {
      const problem = problemOf(error);
      if (error instanceof InsufficientBalanceError) logBalance(error);
      const { status } = factsOf(problem.kind);
      if (status >= 500) {
        const fields = { err: error, requestId, method: ctx.method, route: matchedRoute(ctx) ?? 'none' };
        if (status === 500) http.logger.error(fields, 'request failed');
        else http.logger.warn(fields, 'request not served');
      }
      answerProblem(ctx, problem, problemBody(problem, form, (ctx['state'] as RequestState).messageId));
    }
  };
}

/**
 * The form of errors in the head of a request, as the reference documents them for every path: always `text`, except
 * for clients of the Model Context Protocol.
 */
function formOfHead(ctx: Context): ErrorForm {
  try {
    return errorFormOf(ctx.path) === 'json-rpc' ? 'json-rpc' : 'text';
  } catch {
    // The target is not a path.
    return 'text';
  }
}

function answerProblem(ctx: Context, problem: HttpProblem, body: unknown): void {
  ctx.status = factsOf(problem.kind).status;
  if (problem.headers !== undefined) ctx.set(problem.headers);
  ctx.set('Cache-Control', 'no-store');
  ctx.body = body;
}

/**
 * Logs 402 responses for the operator. The response goes to an API client, who can neither record a payment nor run a
 * command here; the operator, who can, reads the log, and under `npm start` the terminal. One line per account in ten
 * minutes, because a client that repeats its request would otherwise fill the log.
 */
function createBalanceLog(http: HttpContext): (error: InsufficientBalanceError) => void {
  const loggedAt = new Map<string, number>();
  return ({ accountId, availableMicroUsd, neededMicroUsd }) => {
    const last = loggedAt.get(accountId);
    if (last !== undefined && http.now() - last < QUIET_MS) return;
    loggedAt.delete(accountId);
    loggedAt.set(accountId, http.now());
    const [oldest] = loggedAt.keys();
    if (loggedAt.size > MAX_REMEMBERED && oldest !== undefined) loggedAt.delete(oldest);
    http.logger.warn(
      { accountId, availableUsd: formatUsd(availableMicroUsd), neededUsd: formatUsd(neededMicroUsd) },
      `an account's balance does not cover its requests; top it up with ${http.config.adminCommand} accounts top-up ${accountId} --usd 10`,
    );
  };
}

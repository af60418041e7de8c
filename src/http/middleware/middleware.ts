/**
 * The middleware of every request: its id, the one mapping of errors, security headers, and the rejection of plain
 * HTTP where only HTTPS is allowed (spec §1.8).
 */
import type { Context, Middleware, Next } from 'koa';
import { InsufficientBalanceError } from '../../billing/ledger.ts';
import type { HttpConfig } from '../../config/config.ts';
import { factsOf } from '../../domain/darkroom-error.ts';
import { newId } from '../../domain/ids.ts';
import { errorBody } from '../../text/encoder.ts';
import { failure } from '@darkroom/api/tasks/envelope';
import { rpcFailure } from '@darkroom/api/mcp/json-rpc';
import type { MessageId } from '@darkroom/api/mcp/json-rpc';
import { createBalanceLog } from './balance-log.ts';
import type { HttpContext } from '../app/context.ts';
import { isTrusted, unmapIpv4 } from '../app/client-address.ts';
import { errorFormOf } from '../app/error-form.ts';
import type { ErrorForm } from '../app/error-form.ts';
import { invalidRequest, problemOf } from '../app/errors.ts';
import type { HttpProblem } from '../app/errors.ts';
import type { RequestState } from '../app/request-state.ts';
import { matchedRoute } from '../app/matched-route.ts';
import { requireSoundHead } from './request-head.ts';
import { SECURITY_HEADERS, STRICT_TRANSPORT_SECURITY } from './security-headers.ts';
import { textProblemOf } from '../text/problem.ts';

/** A client's own request id is echoed only in this form (contract §1). */
const REQUEST_ID = /^[\w-]{1,64}$/;

/**
 * Gives the request its id and its response the security headers, and maps errors thrown further down to responses.
 *
 * @param listener how the listener is protected.
 */
export function answerErrors(http: HttpContext, listener: HttpConfig): Middleware<RequestState> {
  const balanceLog = createBalanceLog(http.logger, http.config.adminCommand, () => http.now());
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
      if (error instanceof InsufficientBalanceError) balanceLog.rejected(error);
      const { status } = factsOf(problem.kind);
      if (status >= 500) {
        const fields = { err: error, requestId, method: ctx.method, route: matchedRoute(ctx) ?? 'none' };
        if (status === 500) http.logger.error(fields, 'request failed');
        else http.logger.warn(fields, 'request not served');
      }
      answerProblem(ctx, problem, bodyOf(problem, form, (ctx['state'] as RequestState).messageId));
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

function bodyOf(problem: HttpProblem, form: ErrorForm, messageId: MessageId = null): unknown {
  if (form === 'envelope') return failure(problem.kind, problem.message);
  if (form === 'admin') return failure(problem.kind, problem.message, problem.violations);
  if (form === 'json-rpc') return rpcFailure(problem.kind, problem.message, messageId);
  return errorBody(textProblemOf(problem, form));
}

/** Probes come from the machine or the cluster, not through the proxy, and hold nothing secret. */
export const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** Rejects requests that did not come over HTTPS. No redirect: the request, with its key, is already exposed. */
export function requireHttps(config: HttpConfig): Middleware {
  return async (ctx, next) => {
    const isWrongScheme = config.requiresHttps ? !cameByHttps(ctx, config) : cameByHttp(ctx, config);
    if (isWrongScheme && !PROBES.has(ctx.path)) {
      throw invalidRequest('only HTTPS is served here; send the request to the https URL');
    }
    await next();
  };
}

/** Whether a trusted proxy reports HTTP. On the loopback a proxy may report nothing, but what it reports is trusted. */
function cameByHttp(ctx: Context, config: HttpConfig): boolean {
  return (
    config.tls === undefined &&
    ctx.get('X-Forwarded-Proto') !== '' &&
    isByProxy(ctx, config) &&
    !cameByHttps(ctx, config)
  );
}

/** Decided by our own TLS or by the trusted proxies alone. */
function cameByHttps(ctx: Context, config: HttpConfig): boolean {
  if (config.tls !== undefined) return true;
  if (ctx.get('X-Forwarded-Proto').split(',').pop()?.trim().toLowerCase() !== 'https') return false;
  return isByProxy(ctx, config);
}

function isByProxy(ctx: Context, config: HttpConfig): boolean {
  return isTrusted(config.trustedProxies, unmapIpv4(ctx.req.socket.remoteAddress ?? ''));
}

/** What the router found for a request, and the response where it found none. */
import type { RouterContext } from '@koa/router';
import type { Context, ParameterizedContext } from 'koa';
import { RequestError, notFound } from './errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * The pattern of the route that matched a request, as the router has it: for logs, metrics and traces. Never the
 * path, which can be a signed URL's, and of which clients can send any number.
 *
 * @returns undefined where no route matched.
 */
export function matchedRoute(ctx: Context): string | undefined {
  const pattern: unknown = ctx['_matchedRoute'];
  return typeof pattern === 'string' ? pattern : undefined;
}

/** @returns the methods that the routes of a request's path take; empty: no route has this path. */
export function methodsOfPath(ctx: Context & Partial<Pick<RouterContext, 'matched'>>): ReadonlySet<string> {
  return new Set((ctx.matched ?? []).flatMap(({ methods }) => methods));
}

/**
 * Answers OPTIONS, which every path takes, and rejects any other method with a list of those that the path takes (RFC 9110
 * §10.2.1).
 *
 * @param taken the methods that the path has routes for.
 * @throws {RequestError} 405.
 */
export function answerOtherMethod(ctx: ParameterizedContext, taken: Iterable<string>): void {
  const methods = new Set(taken).add('OPTIONS');
  if (methods.has('GET')) methods.add('HEAD');
  const allow = METHODS.filter((method) => methods.has(method)).join(', ');
  if (ctx.method === 'OPTIONS') {
    ctx.status = 204;
    ctx.set('Allow', allow);
    return;
  }
  throw new RequestError('method_not_allowed', undefined, { headers: { Allow: allow } });
}

/** Reached where no route matched: the path is unknown (404), or takes other methods only (405 with `Allow`). */
export function answerUnrouted(ctx: Context): void {
  const methods = methodsOfPath(ctx);
  if (methods.size === 0) throw notFound();
  answerOtherMethod(ctx, methods);
}

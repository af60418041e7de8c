/** Requests that no route takes, although there may be routes with their path. */
import type { RouterContext } from '@koa/router';
import type { Context, ParameterizedContext } from 'koa';
import { RequestError, notFound } from './errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** @returns the methods that the routes of a request's path take; empty: no route has this path. */
export function methodsOfPath(ctx: Context & Partial<Pick<RouterContext, 'matched'>>): ReadonlySet<string> {
  return new Set((ctx.matched ?? []).flatMap(({ methods }) => methods));
}

/**
 * Answers OPTIONS, which every path takes, and rejects any other method with a list of those that the path takes (RFC
 * 9110 §10.2.1).
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

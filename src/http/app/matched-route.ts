/** What the router found for a request. */
import type { RouterContext } from '@koa/router';
import type { Context } from 'koa';

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

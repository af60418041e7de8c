/** What the router found for a request. */
import type { RouterContext } from '@koa/router';
import type { Context } from 'koa';

/**
 * The pattern of the route that took a request, as the router has it: for logs, metrics and traces. Never the path, which
 * can be a signed URL's, and of which there are as many as clients think of.
 *
 * @returns undefined where no route took it.
 */
export function matchedRoute(ctx: Context): string | undefined {
  const pattern: unknown = ctx['_matchedRoute'];
  return typeof pattern === 'string' ? pattern : undefined;
}

/** @returns the methods that the routes of a request's path take; empty: the path is nobody's. */
export function methodsOfPath(ctx: Context & Partial<Pick<RouterContext, 'matched'>>): ReadonlySet<string> {
  return new Set((ctx.matched ?? []).flatMap(({ methods }) => methods));
}

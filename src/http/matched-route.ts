/**
 * The pattern of the route that took a request, as the router has it: for logs, metrics and traces. Never the path, which
 * can be a signed URL's, and of which there are as many as clients think of.
 */
import type { Context } from 'koa';

/** @returns undefined where no route took it. */
export function matchedRoute(ctx: Context): string | undefined {
  const pattern: unknown = ctx['_matchedRoute'];
  return typeof pattern === 'string' ? pattern : undefined;
}

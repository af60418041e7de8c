/** Counts every request by its route's pattern, from its head to the end of its answer. */
import type { Server } from 'node:http';
import type { Middleware } from 'koa';
import { UNMATCHED_ROUTE } from '../../telemetry/metrics-requests.ts';
import type { RequestMetrics } from '../../telemetry/metrics-requests.ts';
import { matchedRoute } from '../app/matched-route.ts';

/** What other servers log where the client went before it was answered. */
export const CLIENT_CLOSED_REQUEST = 499;

/** The outermost middleware. */
export function countRequests(metrics: RequestMetrics): Middleware {
  return (ctx, next) => {
    const startedAt = performance.now();
    metrics.begun();
    ctx.res.once('close', () => {
      const { headersSent, statusCode } = ctx.res;
      const seconds = (performance.now() - startedAt) / 1000;
      metrics.ended(
        matchedRoute(ctx) ?? UNMATCHED_ROUTE,
        ctx.method,
        headersSent ? statusCode : CLIENT_CLOSED_REQUEST,
        seconds,
      );
    });
    return next();
  };
}

/** Counts what the parser refuses, and what does not come in time: neither becomes a request. */
export function countBrokenRequests(server: Server, metrics: RequestMetrics): void {
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException) => {
    if (code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT') metrics.refused();
  });
}

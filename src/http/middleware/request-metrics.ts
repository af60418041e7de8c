/** Counts every request by its route's pattern, from its head to the end of its response. */
import type { Server } from 'node:http';
import type { Middleware } from 'koa';
import { UNMATCHED_ROUTE } from '../../telemetry/metrics-traffic.ts';
import type { RequestMetrics } from '../../telemetry/metrics-traffic.ts';
import { matchedRoute } from '../app/matched-route.ts';

/** The status that other servers log where the client disconnected before the response. */
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

/** Counts requests that the parser rejects, or that do not arrive in time: neither reaches the middleware. */
export function countBrokenRequests(server: Server, metrics: RequestMetrics): void {
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException) => {
    if (code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT') metrics.rejected();
  });
}

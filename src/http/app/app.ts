/**
 * The applications: middleware and routes put together. The facade (architecture, "Parts that run") maps rows to the
 * wire and decides nothing.
 */
import Router from '@koa/router';
import Koa from 'koa';
import type { Middleware } from 'koa';
import type { AdminConfig, HttpConfig } from '../../config/listeners.ts';
import { NO_TRACES } from '../../telemetry/tracing.ts';
import { answerErrors } from '../middleware/answer-errors.ts';
import { answerPreflights } from '../middleware/cross-origin.ts';
import { requireHttps } from '../middleware/guards.ts';
import { countRequests, logRequests, traceRequests } from '../middleware/request-telemetry.ts';
import { createDashboard } from '../routes/dashboard.ts';
import { createGuide } from '../routes/guide.ts';
import { PROBES } from '../routes/health.ts';
import { createClientAddress } from './client-address.ts';
import type { HttpContext, RequestState } from './context.ts';
import { registerRoutes } from './register-routes.ts';
import type { Route } from './route.ts';
import { adminRoutes, publicRoutes } from './routes.ts';
import { answerUnrouted } from './unrouted.ts';

/** The codes of errors that a client causes by disconnecting; they are not errors of the service. */
const GONE_CLIENT_CODES = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNABORTED']);

/** The public application. */
export function createApp(http: HttpContext): Koa<RequestState> {
  const { routes, pages } = createDashboard(http, 'public');
  const { startPage } = createGuide();
  const unrouted: Middleware<RequestState> = (ctx, next) => startPage(ctx, () => pages(ctx, next));
  return assembleApp(http, http.config.http, publicRoutes(http, routes), unrouted, answerPreflights(http));
}

/**
 * The application for operators: the same middleware with other routes, for a listener of its own (contract,
 * "Conventions"). None of it is reachable on the public listener.
 */
export function createAdminApp(http: HttpContext, { http: listener }: AdminConfig): Koa<RequestState> {
  const { routes, pages } = createDashboard(http, 'admin');
  return assembleApp(http, listener, adminRoutes(http, routes), pages);
}

/**
 * @param listener how the listener that serves it is protected.
 * @param pages those of the dashboard and the guide, tried where no route matched the request.
 * @param preflights answers browsers that ask before they send a request to another origin; absent: none is allowed.
 */
function assembleApp(
  http: HttpContext,
  listener: HttpConfig,
  routes: readonly Route[],
  pages: Middleware<RequestState>,
  preflights?: Middleware<RequestState>,
): Koa<RequestState> {
  const app = new Koa<RequestState>();
  app.on('error', (error: Error & { code?: string }) => {
    // HPE: the parser's own errors, which are answered where they occur (server.ts).
    if (error.code !== undefined && (GONE_CLIENT_CODES.has(error.code) || error.code.startsWith('HPE_'))) return;
    http.logger.error({ err: error }, 'sending a response failed');
  });

  const router = new Router<RequestState>({ sensitive: true, strict: true });
  const direct = registerRoutes(router, http, routes);

  app.use(countRequests(http.metrics.requests));
  if (http.config.logsRequests) app.use(logRequests(http.logger, createClientAddress(listener.trustedProxies)));
  if (http.tracing !== NO_TRACES) app.use(traceRequests(http.tracing, () => http.now(), PROBES));
  app.use(answerErrors(http, listener));
  app.use(requireHttps(listener, PROBES));
  if (preflights !== undefined) app.use(preflights);
  app.use(direct);
  app.use(router.routes());
  app.use(pages);
  app.use(answerUnrouted);
  return app;
}

/**
 * The application for operators: the same middleware with other routes, for a listener of its own (contract,
 * "Conventions"). None of it is reachable on the public listener.
 */
import type Koa from 'koa';
import type { AdminConfig } from '../../config/config.ts';
import { adminRoutes } from './admin-routes.ts';
import { assembleApp } from './app.ts';
import type { HttpContext } from './context.ts';
import type { RequestState } from './request-state.ts';
import { createDashboard } from '../routes/dashboard.ts';

export function createAdminApp(http: HttpContext, { http: listener }: AdminConfig): Koa<RequestState> {
  const { routes, pages } = createDashboard(http, 'admin');
  return assembleApp(http, listener, adminRoutes(http, routes), pages);
}

/**
 * Every route of the public listener, in the order of the reference. The OpenAPI document and the matrix of who may do
 * what are made from this list.
 */
import type { HttpContext } from './context.ts';
import type { Route } from './route.ts';
import { healthRoutes } from './routes/health.ts';
import { mediaRoutes } from './routes/media.ts';
import { taskRoutes } from './routes/tasks.ts';

export function publicRoutes(http: HttpContext): readonly Route[] {
  return [...taskRoutes(http), ...mediaRoutes(http), ...healthRoutes(http)];
}

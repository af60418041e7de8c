/**
 * Every route of the admin listener, in the order of the reference. All of them need the operator's token.
 */
import type { HttpContext } from './context.ts';
import type { Route } from './route.ts';
import { adminAccountRoutes } from './routes/admin-accounts.ts';
import { adminBookRoutes } from './routes/admin-books.ts';
import { adminKeyRoutes } from './routes/admin-keys.ts';
import { adminServiceRoutes } from './routes/admin-service.ts';
import { adminReferenceRoutes } from './routes/reference.ts';

export function adminRoutes(http: HttpContext): readonly Route[] {
  const routes = [
    ...adminAccountRoutes(http),
    ...adminBookRoutes(http),
    ...adminKeyRoutes(http),
    ...adminServiceRoutes(http),
  ];
  return [...routes, ...adminReferenceRoutes(routes)];
}

/**
 * Every route of the admin listener, in the order of the reference. All of them need the operator's token, except for
 * the pages that prompt for it.
 */
import type { HttpContext } from './context.ts';
import type { Route } from './route.ts';
import { adminAccountRoutes } from '../routes/admin-accounts.ts';
import { adminLedgerRoutes } from '../routes/admin-ledger.ts';
import { adminMarginRoutes } from '../routes/admin-margins.ts';
import { adminKeyRoutes } from '../routes/admin-keys.ts';
import { adminOperationRoutes } from '../routes/admin-operations.ts';
import { adminProviderRoutes } from '../routes/admin-providers.ts';
import { adminRepairRoutes } from '../routes/admin-repairs.ts';
import { adminServiceRoutes } from '../routes/admin-service.ts';
import { createDashboard } from '../routes/dashboard.ts';
import { adminReferenceRoutes } from '../routes/reference.ts';

/** @param pages the routes of the dashboard. */
export function adminRoutes(
  http: HttpContext,
  pages: readonly Route[] = createDashboard(http, 'admin').routes,
): readonly Route[] {
  const routes = [
    ...adminAccountRoutes(http),
    ...adminLedgerRoutes(http),
    ...adminMarginRoutes(http),
    ...adminKeyRoutes(http),
    ...adminServiceRoutes(http),
    ...adminProviderRoutes(http),
    ...adminOperationRoutes(http),
    ...adminRepairRoutes(http),
    ...pages,
  ];
  return [...routes, ...adminReferenceRoutes(routes)];
}

/**
 * Every route of both listeners, in the order of the reference. The OpenAPI documents and the matrix of access rights
 * are generated from these lists.
 */
import { webhookRoutes } from '../routes/webhooks.ts';
import { accountRoutes } from '../routes/account.ts';
import { adminAccountRoutes } from '../routes/admin-accounts.ts';
import { adminKeyRoutes } from '../routes/admin-keys.ts';
import { adminLedgerRoutes } from '../routes/admin-ledger.ts';
import { adminOperationRoutes } from '../routes/admin-operations.ts';
import { adminProviderRoutes } from '../routes/admin-providers.ts';
import { adminServiceRoutes } from '../routes/admin-service.ts';
import { batchRoutes } from '../routes/batches.ts';
import { chatRoutes } from '../routes/chat.ts';
import { createDashboard } from '../routes/dashboard.ts';
import { estimateRoutes, taskRoutes } from '../routes/tasks.ts';
import { fileRoutes } from '../routes/files.ts';
import { createGuide } from '../routes/guide.ts';
import { healthRoutes } from '../routes/health.ts';
import { hookRoutes } from '../routes/hooks.ts';
import { imageRoutes } from '../routes/images.ts';
import { keyRoutes } from '../routes/keys.ts';
import { mcpRoutes } from '../routes/mcp.ts';
import { mediaRoutes } from '../routes/media.ts';
import { modelRoutes } from '../routes/models.ts';
import { outputPreviewRoutes } from '../routes/output-preview.ts';
import { adminReferenceRoutes, referenceRoutes } from '../routes/reference.ts';
import { responseRoutes } from '../routes/responses.ts';
import { sessionRoutes } from '../routes/session.ts';
import { speechRoutes } from '../routes/speech.ts';
import { storageRoutes } from '../routes/storages.ts';
import { taskEventRoutes } from '../routes/task-events.ts';
import { taskDetailRoutes } from '../routes/task-detail.ts';
import { taskListRoutes } from '../routes/task-list.ts';
import { transcriptionRoutes } from '../routes/transcriptions.ts';
import { uploadRoutes } from '../routes/uploads.ts';
import { videoRoutes } from '../routes/videos.ts';
import type { HttpContext } from './context.ts';
import type { Route } from './route.ts';

/** Those of the public listener. @param pages the routes of the dashboard. */
export function publicRoutes(
  http: HttpContext,
  pages: readonly Route[] = createDashboard(http, 'public').routes,
): readonly Route[] {
  const routes = [
    ...taskRoutes(http),
    ...taskDetailRoutes(http),
    ...outputPreviewRoutes(http),
    ...taskEventRoutes(http),
    ...taskListRoutes(http),
    ...chatRoutes(http),
    ...responseRoutes(http),
    ...imageRoutes(http),
    ...speechRoutes(http),
    ...transcriptionRoutes(http),
    ...videoRoutes(http),
    ...storageRoutes(http),
    ...fileRoutes(http),
    ...uploadRoutes(http),
    ...batchRoutes(http),
    ...estimateRoutes(http),
    ...modelRoutes(http),
    ...accountRoutes(http),
    ...keyRoutes(http),
    ...webhookRoutes(http),
    ...mcpRoutes(http),
    ...sessionRoutes(http),
    ...pages,
    ...mediaRoutes(http),
    ...hookRoutes(http),
    ...healthRoutes(http),
    ...createGuide().routes,
  ];
  return [...routes, ...referenceRoutes(http, routes)];
}

/**
 * Those of the admin listener. All of them need the operator's token, except for the pages that prompt for it.
 *
 * @param pages the routes of the dashboard.
 */
export function adminRoutes(
  http: HttpContext,
  pages: readonly Route[] = createDashboard(http, 'admin').routes,
): readonly Route[] {
  const routes = [
    ...adminAccountRoutes(http),
    ...adminLedgerRoutes(http),
    ...adminKeyRoutes(http),
    ...adminServiceRoutes(http),
    ...adminProviderRoutes(http),
    ...adminOperationRoutes(http),
    ...pages,
  ];
  return [...routes, ...adminReferenceRoutes(routes)];
}

/** The listener for operators, if there is a token for it (`ADMIN_TOKEN`): separate from the public listener. */
import { createAdminApp } from '../http/app/app.ts';
import type { HttpContext } from '../http/app/context.ts';
import { PortInUseError } from '../config/listeners.ts';
import { listen } from '../http/app/server.ts';
import type { RunningServer } from '../http/app/server.ts';

/** @returns undefined if the configuration has no token. @throws {PortInUseError} */
export async function startAdminListener(http: HttpContext): Promise<RunningServer | undefined> {
  const { admin } = http.config;
  if (admin === undefined) return undefined;
  const handle = createAdminApp(http, admin).callback();
  const listening = listen(admin.http, (request, response) => void handle(request, response), { logger: http.logger });
  const server = await listening.catch((error: unknown) => {
    throw error instanceof PortInUseError ? new PortInUseError(admin.http.port, 'ADMIN_PORT') : error;
  });
  http.logger.info({ url: server.url }, 'admin listener started');
  return server;
}

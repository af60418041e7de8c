/**
 * The api process: the HTTP facade and the launcher. It serves before Temporal is reachable and while it is away; the
 * launcher catches up when it comes back.
 */
import type { NativeConnection } from '@temporalio/worker';
import { createApp } from '../http/app.ts';
import type { HttpContext } from '../http/context.ts';
import { listen } from '../http/server.ts';
import { connectTemporal, temporalClient } from '../temporal/connection.ts';
import { createWorkflowGateway } from '../temporal/workflow-gateway.ts';
import type { WorkflowGateway } from '../temporal/workflow-gateway.ts';
import { openLiveCatalogue } from '../catalogue/live-catalogue.ts';
import { packageFile } from '../config/package-root.ts';
import type { OutboxItem } from '../tasks/outbox.ts';
import type { TaskDetail } from '../tasks/read.ts';
import { readInstallationId } from '../database/migrate.ts';
import { startAdminListener } from './admin-listener.ts';
import type { Foundation } from './foundation.ts';
import { startLauncher } from './launcher.ts';
import type { Launcher } from './launcher.ts';
import { createHttpContext } from './http-context.ts';
import { createReadRepair } from './read-repair.ts';
import { openTextParts } from './text-parts.ts';

export interface RunningApi {
  /** Where it listens. */
  readonly url: string;
  /** Where the listener for operators is; undefined where there is none. */
  readonly adminUrl: string | undefined;
  /** Finishes what was begun, within the configured grace time. */
  close(): Promise<void>;
}

/** How long to wait between attempts to reach Temporal while it is away. */
const RECONNECT_MS = 1_000;

/** Starts serving. @throws {PortInUseError} @throws {ModelFileError} */
export async function startApi(foundation: Foundation): Promise<RunningApi> {
  const { config, database, logger, definitions } = foundation;
  const folders = [packageFile('models'), ...(config.modelsDir === undefined ? [] : [config.modelsDir])];
  const catalogue = await openLiveCatalogue({ folders, definitions, logger, now: foundation.now });

  let isDraining = false;
  let launcher: Launcher | undefined;
  let considerRepair: HttpContext['considerRepair'] = () => {};
  const hooks = {
    // After the answer is on its way: the caller does not wait for the claim.
    wakeLauncher: (claimed?: OutboxItem) => void setImmediate(() => launcher?.wake(claimed)),
    mayClaim: () => launcher?.hasRoom() ?? false,
    considerRepair: (task: TaskDetail) => considerRepair(task),
    isReady: () => !isDraining,
  };
  const text = await openTextParts(foundation);
  const http = createHttpContext(foundation, catalogue, hooks, await readInstallationId(database), text);
  const app = createApp(http);
  const handle = app.callback();
  const server = await listen(config.http, (request, response) => void handle(request, response));
  const adminServer = await startAdminListener(http).catch(async (error: unknown) => {
    await server.close(0);
    throw error;
  });

  const connecting = new AbortController();
  const connected = connectWhenPossible(foundation, connecting.signal).then((temporal) => {
    if (temporal === undefined) return undefined;
    const { gateway } = temporal;
    launcher = startLauncher({ database, gateway, definitions, logger });
    launcher.wake();
    considerRepair = createReadRepair({ database, gateway, retentionDays: config.outputRetentionDays, logger });
    return temporal;
  });

  return {
    url: server.url,
    adminUrl: adminServer?.url,
    async close() {
      isDraining = true;
      connecting.abort();
      http.feed.close();
      await Promise.all([server.close(config.shutdownGraceMs), adminServer?.close(config.shutdownGraceMs)]);
      await text.close();
      await catalogue.close();
      await http.keyUse.flush();
      await launcher?.close();
      await (await connected)?.connection.close();
    },
  };
}

interface Temporal {
  readonly connection: NativeConnection;
  readonly gateway: WorkflowGateway;
}

/** @returns undefined when the process stops before Temporal was ever there. */
async function connectWhenPossible(foundation: Foundation, signal: AbortSignal): Promise<Temporal | undefined> {
  const { config, logger } = foundation;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      const connection = await connectTemporal(config.temporal);
      logger.info({ address: config.temporal.address }, 'connected to Temporal');
      return { connection, gateway: createWorkflowGateway(temporalClient(connection, config.temporal)) };
    } catch (error) {
      if (attempt === 1) logger.warn({ err: error }, 'Temporal is not reachable; tasks are accepted and wait for it');
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }
  return undefined;
}

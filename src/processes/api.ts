/**
 * The api process: the HTTP facade and the launcher. It serves before Temporal is reachable and while it is
 * unavailable; the launcher catches up when it is back.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import { createAdminApp, createApp } from '../http/app/app.ts';
import type { HttpContext } from '../http/app/context.ts';
import { listen } from '../http/app/server.ts';
import type { RunningServer } from '../http/app/server.ts';
import { createBackgroundContext } from '../http/text/background-context.ts';
import { temporalClient } from '../temporal/connection.ts';
import type { TemporalRuntime } from '../temporal/runtime.ts';
import { createWorkflowGateway } from '../temporal/workflow-gateway.ts';
import { createLastGoodFiles } from '../catalogue/last-good-files.ts';
import { openLiveCatalogue } from '../catalogue/live-catalogue.ts';
import type { LiveProviderSettings } from '../catalogue/live-catalogue.ts';
import { readProvenModels } from '../catalogue/load-models.ts';
import { packageFile } from '../config/package-root.ts';
import type { OutboxItem } from '../tasks/outbox/outbox.ts';
import type { TaskDetail } from '../tasks/record/read.ts';
import { TextFailure } from '../text/text-failure.ts';
import { readInstallationId } from '../database/migrate.ts';
import { startPublishingCaps } from '../upstreams/published-caps.ts';
import { startBackgroundRunner, createBatchContext, startBatchRunner } from './runners.ts';
import type { DueWork } from './runners.ts';
import { connectWhenPossible } from './wait-for-dependencies.ts';
import type { Foundation } from './foundation.ts';
import { startLauncher } from './launcher.ts';
import type { Launcher } from './launcher.ts';
import { createHttpContext } from './http-context.ts';
import { apiMetrics, startMetricsListener } from './metrics.ts';
import { createReadRepair } from './read-repair.ts';
import type { DatabaseWait } from './wait-for-dependencies.ts';
import { openTextParts } from './text-parts.ts';
import { PROTOCOLS } from '../providers/protocols.ts';
import { PortInUseError } from '../config/listeners.ts';

export interface RunningApi {
  /** The address of the public listener. */
  readonly url: string;
  /** The address of the listener for operators; undefined if there is none. */
  readonly adminUrl: string | undefined;
  /** Checks whether the files of the certificate have changed. */
  reloadCertificate(): Promise<void>;
  /** Reports that it is no longer ready, accepts requests for the drain time, then finishes within the grace time. */
  close(): Promise<void>;
}

/** Open streams get this much of the grace time for a final message that they end here; at most a quarter of it. */
const GRACE_MS = 500;

/**
 * Starts serving.
 *
 * @param waitForDatabase runs the steps that need it.
 * @throws {PortInUseError} @throws {ModelFileError}
 */
export async function startApi(
  foundation: Foundation,
  runtime: TemporalRuntime,
  waitForDatabase: DatabaseWait,
): Promise<RunningApi> {
  const { config, database, logger, definitions, upstreamSettings, credentialProbes } = foundation;
  const directories = [packageFile('models'), ...(config.modelsDir === undefined ? [] : [config.modelsDir])];
  await Promise.all([upstreamSettings.refresh(), credentialProbes.refresh()]);
  const proven = await readProvenModels();
  const catalogue = await waitForDatabase(() =>
    openLiveCatalogue({
      directories,
      protocols: PROTOCOLS,
      proven,
      definitions,
      settings: offeredBy(upstreamSettings, credentialProbes),
      logger,
      now: foundation.now,
      ...(config.modelsDir === undefined ? {} : { lastGood: createLastGoodFiles(database, config.modelsDir) }),
      onRejected: (problems) => foundation.metrics.passes.modelFilesRejected(problems),
    }),
  );
  credentialProbes.follow(() => catalogue.providers());

  const caps = await startPublishingCaps({ database, catalogue, logger });

  let isDraining = false;
  const stopping = new AbortController();
  // Each text call adds a listener.
  setMaxListeners(0, stopping.signal);
  let launcher: Launcher | undefined;
  let dueWork: readonly DueWork[] = [];
  let connection: NativeConnection | undefined;
  let considerRepair: HttpContext['considerRepair'] = () => {};
  let renderMetrics: HttpContext['renderMetrics'] = () => foundation.metrics.registry.metrics();
  const hooks = {
    // After the answer has been sent: the caller does not wait for the claim.
    wakeLauncher: (claimed?: OutboxItem) => void setImmediate(() => launcher?.wake(claimed)),
    wakeDueWork: () => void setImmediate(() => dueWork.forEach((work) => work.wake())),
    mayClaim: () => launcher?.hasRoom() ?? false,
    considerRepair: (task: TaskDetail) => considerRepair(task),
    isReady: () => !isDraining,
    stopSignal: stopping.signal,
    renderMetrics: () => renderMetrics(),
  };
  const text = await openTextParts(foundation, waitForDatabase);
  const installationId = await waitForDatabase(() => readInstallationId(database));
  const http = createHttpContext(foundation, catalogue, hooks, installationId, text);
  const app = createApp(http);
  const handle = app.callback();
  const server = await listen(config.http, (request, response) => void handle(request, response), {
    logger,
    shares: foundation.metrics.shares,
  });
  const adminServer = await startAdminListener(http).catch(async (error: unknown) => {
    await server.close(0);
    throw error;
  });

  renderMetrics = apiMetrics(foundation, {
    server: server.server,
    eventStreams: () => http.eventStreams.count(),
    credentials: () => credentialProbes.all(),
    connection: () => connection,
    readSdkMetrics: () => runtime.readMetrics(),
  });
  const metricsListener = await startMetricsListener(foundation, { metrics: renderMetrics, probes: new Map() }).catch(
    async (error: unknown) => {
      await Promise.all([server.close(0), adminServer?.close(0)]);
      throw error;
    },
  );

  dueWork = [
    startBackgroundRunner(createBackgroundContext(http, text.ledger), config.worker.upstreamGraceMs),
    startBatchRunner(createBatchContext(http, installationId)),
  ];
  const connecting = new AbortController();
  const connected = connectWhenPossible({
    config: config.temporal,
    runtime,
    logger,
    outboxMetrics: foundation.metrics.outbox,
    meanwhile: 'tasks are accepted and wait for Temporal',
    signal: connecting.signal,
  }).then((made) => {
    if (made === undefined) return undefined;
    const gateway = createWorkflowGateway(temporalClient(made, config.temporal), installationId);
    connection = made;
    launcher = startLauncher({
      database,
      stalledAccounts: foundation.stalledAccounts,
      gateway,
      definitions,
      tracing: foundation.tracing,
      logger,
      shareMetrics: foundation.metrics.shares,
      outboxMetrics: foundation.metrics.outbox,
    });
    launcher.wake();
    considerRepair = createReadRepair({
      database,
      accountDatabase: foundation.accountDatabase,
      gateway,
      retentionDays: config.outputRetentionDays,
      metrics: foundation.metrics.tasks,
      logger,
    });
    return made;
  });

  return {
    url: server.url,
    adminUrl: adminServer?.url,
    async reloadCertificate() {
      await Promise.all([server.reloadCertificate(), adminServer?.reloadCertificate()]);
    },
    async close() {
      isDraining = true;
      server.drain();
      adminServer?.drain();
      await sleep(config.drainMs);
      connecting.abort();
      http.feed.close();
      http.backgroundFeed.close();
      const workClosed = Promise.all(dueWork.map((work) => work.close()));
      const graceMs = config.shutdownGraceMs;
      const grace = setTimeout(
        () => stopping.abort(new TextFailure('interrupted', 'the process stops')),
        graceMs - Math.min(GRACE_MS, graceMs / 4),
      );
      await Promise.all([server.close(graceMs), adminServer?.close(graceMs)]);
      clearTimeout(grace);
      await workClosed;
      await http.bodyThreads.close();
      await text.close();
      await Promise.all([catalogue.close(), caps.close()]);
      await http.keyUse.flush();
      await launcher?.close();
      // A worker that Temporal has rejected may still hold it, and must not keep the process from ending in order.
      await (await connected)?.close().catch((err: unknown) => {
        logger.warn({ err }, 'closing the connection to Temporal failed');
      });
      await metricsListener?.close();
    },
  };
}

/** What decides about the models that can be offered: the settings, and what providers say about credentials. */
function offeredBy(
  settings: Pick<Foundation['upstreamSettings'], 'hasCredential' | 'baseUrlOf' | 'onChange'>,
  probes: Pick<Foundation['credentialProbes'], 'isRejected' | 'onChange'>,
): LiveProviderSettings {
  return {
    hasCredential: (name) => settings.hasCredential(name),
    baseUrlOf: (provider) => settings.baseUrlOf(provider),
    isRejected: (provider, credential) => probes.isRejected(provider, credential),
    onChange(listener) {
      const ends = [settings.onChange(listener), probes.onChange(listener)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

/**
 * Starts the listener for operators, if there is a token for it (`ADMIN_TOKEN`): separate from the public listener.
 *
 * @returns undefined if the configuration has no token. @throws {PortInUseError}
 */
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

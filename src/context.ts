/**
 * The composition root: creates everything that a process holds from its configuration. Nothing else in the program
 * creates these objects; modules receive what they need.
 */
import type { ActivityContext } from '../activities/context.ts';
import {
  createArchivingSlots,
  createVideoArchivingSlots,
  createFrameDecoders,
  createStopSlots,
  createInputFetches,
} from './generation/slots.ts';
import { createSecretCipher } from './accounts/secret-cipher.ts';
import { createWebhookKeys } from './accounts/webhook-key.ts';
import { createPinnedDefinitions } from './catalogue/pinned-definitions.ts';
import type { Config } from './config/config.ts';
import { publicUrlOf } from './config/listeners.ts';
import { timeOutMs } from './config/time-outs.ts';
import { createDatabaseClock } from './database/database-clock.ts';
import { openDatabase } from './database/database.ts';
import { readEgressPolicy } from './egress/policy.ts';
import { createEgress } from './egress/guarded-client.ts';
import { createEnginePool } from './providers/embedded/engine-pool.ts';
import type { EnginePool } from './providers/embedded/engine-pool.ts';
import { createClaimedStore } from './objects/stores/claimed-store.ts';
import { openStore } from './objects/stores/open-store.ts';
import { createUrlSigner } from './objects/urls/signed-url.ts';
import {
  ACTIVITIES_WAIT,
  REQUESTS_WAIT,
  createAccountDatabase,
  createStalledRows,
  createUpstreamDatabase,
} from './limits/row-databases.ts';
import { FILE_MS, createMediaInspector } from '@darkroom/media/inspect';
import { createInspectionTurns } from './limits/media-turns.ts';
import { createCredentialProbes } from './providers/credential-probes.ts';
import { createEmbeddedProvider } from './providers/embedded/embedded-provider.ts';
import type { Provider } from './providers/provider.ts';
import { UPSTREAM_PROTOCOLS } from './providers/protocols.ts';
import { createAnswerThreads } from './providers/answer-threads.ts';
import type { HttpProviderDeps } from './providers/upstream-calls.ts';
import type { Foundation } from './processes/foundation.ts';
import { observeEgress } from './processes/observed-egress.ts';
import type { Logger } from './telemetry/log.ts';
import { createTaskWaker } from './tasks/outbox/wake-task.ts';
import { createCancelFeed } from './tasks/record/cancel-feed.ts';
import { createSettler } from './tasks/lifecycle/settle-queue.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { NO_TRACES } from './telemetry/tracing.ts';
import type { Tracing } from './telemetry/tracing.ts';
import type { WorkflowGateway } from './temporal/workflow-gateway.ts';
import { createUpstreamSettings } from './upstreams/upstream-settings.ts';
import { createUpstreams } from './upstreams/upstreams.ts';

/** Opens what api and worker share. Nothing is connected yet: `database.check()` and `store.check()` try to. */
export async function createFoundation(config: Config, logger: Logger, role: 'api' | 'worker'): Promise<Foundation> {
  const database = openDatabase(config.database, logger);
  const clock = createDatabaseClock({ database, logger, maxSkewMs: config.maxClockSkewMs });
  const { store, claim: storeClaim } = createClaimedStore({ database, store: await openStore(config.store), logger });
  const egressPolicy = readEgressPolicy(config.egress);
  const metrics = createMetrics();
  const egress = observeEgress(createEgress({ ...egressPolicy, logger, metrics: metrics.shares }), metrics.outgoing);
  const inspector = createMediaInspector({
    turns: createInspectionTurns(metrics.shares),
    fileMs: timeOutMs(FILE_MS),
    onKilled: (reason) => metrics.media.inspectionKilled(reason),
  });
  const stalledAccounts = createStalledRows();
  const cipher = createSecretCipher(config.encryptionKey, ...config.encryptionKeyFallbacks);
  const upstreamSettings = createUpstreamSettings({ environment: config.upstreams, database, cipher, logger });
  const credentialProbes = createCredentialProbes({
    database,
    settings: upstreamSettings,
    encryptionKey: config.encryptionKey,
    logger,
  });
  const tracing = await openTracing(config.traces, role);
  return {
    config,
    logger,
    metrics,
    database,
    accountDatabase: createAccountDatabase(
      database,
      config.database.poolSize,
      role === 'api' ? REQUESTS_WAIT : ACTIVITIES_WAIT,
      metrics.shares,
      stalledAccounts,
    ),
    stalledAccounts,
    store,
    storeClaim,
    urlSigner: createUrlSigner({
      publicUrl: publicUrlOf(config.http),
      signingKey: config.urls.signingKey,
      signingKeyFallbacks: config.urls.signingKeyFallbacks,
      lifetimeSeconds: config.urls.lifetimeSeconds,
      now: () => clock.now(),
    }),
    definitions: createPinnedDefinitions(database),
    webhookKeys: createWebhookKeys(config.encryptionKey, ...config.encryptionKeyFallbacks),
    upstreamSettings,
    credentialProbes,
    egressPolicy,
    egress,
    inspector,
    tracing,
    clock,
    now: () => clock.now(),
    async close() {
      storeClaim.close();
      await credentialProbes.close();
      await upstreamSettings.close();
      await clock.close();
      await tracing.close();
      await inspector.close();
      await egress.close();
      await store.close();
      await database.close();
    },
  };
}

async function openTracing(settings: Config['traces'], role: string): Promise<Tracing> {
  if (settings === undefined) return NO_TRACES;
  const { startTracing } = await import('./telemetry/otlp-tracing.ts');
  return startTracing(settings, role);
}

/** The provider of every protocol, by its name. */
export function createProviders(pool: EnginePool, upstream: HttpProviderDeps): ReadonlyMap<string, Provider> {
  const providers = [createEmbeddedProvider(pool), ...UPSTREAM_PROTOCOLS.map((protocol) => protocol.create(upstream))];
  return new Map(providers.map((provider) => [provider.protocol, provider]));
}

/** What only workers have: providers and engines. */
export function createActivityContext(
  foundation: Foundation,
  gateway: WorkflowGateway,
): { readonly context: Omit<ActivityContext, 'stopping' | 'ending'>; close(): Promise<void> } {
  const { config, logger } = foundation;
  const pool = createEnginePool({
    threads: config.worker.engineThreads,
    logger,
    shareMetrics: foundation.metrics.shares,
  });
  const threads = createAnswerThreads({ metrics: foundation.metrics.shares });
  const waker = createTaskWaker({
    database: foundation.database,
    deliver: (taskId) => gateway.wakeTask(taskId),
    logger,
  });
  return {
    context: {
      ...foundation,
      settler: createSettler({
        accountDatabase: foundation.accountDatabase,
        retentionDays: config.outputRetentionDays,
        onSettled: foundation.metrics.tasks.settled,
      }),
      upstreams: createUpstreams({
        database: foundation.database,
        upstreamDatabase: createUpstreamDatabase(
          foundation.database,
          config.database.poolSize,
          foundation.metrics.shares,
        ),
        logger,
        wake: (transaction, admission) => waker.wake(transaction, admission),
        publicUrl: foundation.urlSigner.publicUrl,
        signingKey: config.urls.signingKey,
        signingKeyFallbacks: config.urls.signingKeyFallbacks,
      }),
      providers: createProviders(pool, { secrets: foundation.upstreamSettings, logger, threads }),
      inputFetches: createInputFetches(foundation.metrics.shares),
      archivingSlots: createArchivingSlots(foundation.metrics.shares),
      videoArchivingSlots: createVideoArchivingSlots(foundation.metrics.shares),
      frameDecoders: createFrameDecoders(foundation.metrics.shares),
      stopSlots: createStopSlots(foundation.metrics.shares),
      cancels: createCancelFeed({ database: foundation.database, logger }),
      describeTask: (taskId) => gateway.describeTask(taskId),
      readRun: (taskId, runId) => gateway.readRun(taskId, runId),
      recordHeartbeat: (taskToken, details) => gateway.recordHeartbeat(taskToken, details),
    },
    async close() {
      await pool.close();
      await threads.close();
      await waker.close();
    },
  };
}

/** `darkroom worker`: runs the Temporal workers until stopped. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import { loadConfig, loadLogConfig } from '../config/config.ts';
import { createActivityContext, createFoundation } from '../context.ts';
import { readInstallationId } from '../database/migrate.ts';
import { PoolerError } from '../database/pooler.ts';
import { startClockGuardedWorker } from '../processes/clock-guarded-worker.ts';
import { connectWhenPossible } from '../processes/wait-for-dependencies.ts';
import type { Foundation } from '../processes/foundation.ts';
import { handBackLostWaits, handOverWaits } from '../processes/hand-over.ts';
import { prepareMediaSandbox } from '../processes/media-sandbox.ts';
import { startWorkerMetrics } from '../processes/metrics.ts';
import { startWorker } from '../processes/worker.ts';
import type { RunningWorker } from '../processes/worker.ts';
import { watchForHang } from '../processes/hang-watch.ts';
import { startWorkerPresence } from '../processes/worker-presence.ts';
import type { WorkerPresence } from '../processes/worker-presence.ts';
import { createLogger } from '../telemetry/log.ts';
import { temporalClient } from '../temporal/connection.ts';
import { installTemporalRuntime } from '../temporal/runtime.ts';
import { loadWorkflowBundle } from '../temporal/workflow-bundle.ts';
import { createWorkflowGateway } from '../temporal/workflow-gateway.ts';
import {
  announceReady,
  checkStoredSecrets,
  logProcessWarnings,
  waitForStopSignal,
  warnOfUnknownVariables,
  warnOfUnsetVariables,
} from './process-lifecycle.ts';

/** How long to wait between attempts to reach the database while it is unavailable. */
const RECONNECT_MS = 1_000;

export async function runWorker(environment: NodeJS.ProcessEnv): Promise<void> {
  const logger = createLogger({ ...loadLogConfig(environment), role: 'worker' });
  logProcessWarnings(logger);
  warnOfUnknownVariables(environment, logger);
  const config = loadConfig(environment);
  warnOfUnsetVariables(environment, logger, 'worker');
  const runtime = await installTemporalRuntime(logger, config.metrics !== undefined);
  const signal = waitForStopSignal(logger);
  const foundation = await createFoundation(config, logger, 'worker');
  // A wrong store ends the process at any time, however long nothing was known of it.
  const stop = Promise.race([signal, foundation.storeClaim.foreign]);
  // Before the engines' threads are started, which receive its result.
  await prepareMediaSandbox(foundation);
  const seen: { connection?: NativeConnection; worker?: RunningWorker } = {};
  // Before there is a connection: probes must be able to see that the worker waits for Temporal.
  const metricsListener = await startWorkerMetrics(foundation, runtime, () => seen);
  foundation.storeClaim.start();
  const connecting = connectWhenPossible({
    config: config.temporal,
    runtime,
    logger,
    outboxMetrics: foundation.metrics.outbox,
    meanwhile: 'the worker waits for Temporal',
  });
  const connection = await Promise.race([connecting, stop]);
  // Stopped before there was anything to work on.
  if (connection === undefined || typeof connection === 'string') process.exit(0);
  seen.connection = connection;
  const installationId = await Promise.race([waitForInstallationId(foundation), stop.then(() => undefined)]);
  if (installationId === undefined) process.exit(0);
  const gateway = createWorkflowGateway(temporalClient(connection, config.temporal), installationId);
  const activities = createActivityContext(foundation, gateway);
  // Unique: in containers every worker has the same process id.
  const identity = `${process.pid}@${hostname()}-${randomBytes(6).toString('hex')}`;
  let presence: WorkerPresence | undefined;
  try {
    await foundation.storeClaim.waitForFirstAttempt();
    await checkStoredSecrets(foundation);
    // Before it takes work; an unavailable database does not prevent that.
    await Promise.all([foundation.clock.measure(), foundation.upstreamSettings.refresh()]);
    foundation.clock.start();
    const workflowBundle = await loadWorkflowBundle(logger);
    // Before it takes work: until its row is there, its death would be noticed by Temporal alone.
    presence = startWorkerPresence({
      database: foundation.database,
      logger,
      identity,
      handOver: (dead) => handOverWaits(foundation.database, gateway, dead),
      handBackLost: () => handBackLostWaits({ database: foundation.database, gateway, identity, logger }),
    });
    const worker = await startClockGuardedWorker({
      clock: foundation.clock,
      queues: config.worker.queues,
      logger,
      start: () =>
        startWorker({
          connection,
          activityContext: activities.context,
          tracing: foundation.tracing,
          workflowBundle,
          identity,
          installationId,
        }),
    });
    seen.worker = worker;
    logger.info({ queues: config.worker.queues }, 'worker started');
    watchForHang('worker', config.hangMs);
    announceReady();
    await runUntilStopped(worker, stop);
  } finally {
    await presence?.close();
    await activities.close();
    // If the SDK has given up its runtime this fails, and must not hide the original error.
    await connection.close().catch((err: unknown) => {
      logger.warn({ err }, 'closing the connection to Temporal failed');
    });
    await metricsListener?.close();
    await foundation.close();
  }
}

/** Runs it until it ends or the process is stopped. Its end is awaited, because its work may be paid for. */
async function runUntilStopped(worker: RunningWorker, stop: Promise<unknown>): Promise<void> {
  try {
    await Promise.race([stop, worker.finished]);
  } finally {
    worker.shutdown();
    await Promise.allSettled([worker.finished]);
  }
  await worker.finished;
}

/** Without the database, which has the id that the names of its queues begin with, a worker can only wait for it. */
async function waitForInstallationId({ database, logger }: Foundation): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      await database.verify();
      return await readInstallationId(database);
    } catch (error) {
      if (error instanceof PoolerError) throw error;
      if (attempt === 1) logger.warn({ err: error }, 'waiting for the database');
      await sleep(RECONNECT_MS);
    }
  }
}

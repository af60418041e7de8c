/**
 * The worker process: one Temporal worker for each task queue that it serves, all sharing one connection and one set of
 * activities (architecture, "Parts that run").
 */
import { Worker } from '@temporalio/worker';
import type { ActivityInterceptorsFactory, NativeConnection, WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { ARCHIVING_SLOTS, STOP_SLOTS } from '../generation/slots.ts';
import type { ActivityContext } from '../../activities/context.ts';
import { WorkerStoppingError } from '../generation/stopping.ts';
import { removeStaleScratch } from '../generation/scratch.ts';
import { CALLBACK_SLOTS } from '../callbacks/delivery-slots.ts';
import { longRenderingLimits } from '../providers/embedded/engine-pool.ts';
import { deploymentNameOf, taskOfWorkflow, taskQueueOf } from '../domain/workflow-ids.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import type { Activities } from '../../workflows/contracts.ts';
import { NO_TRACES } from '../telemetry/tracing.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { WorkflowBundle } from '../temporal/workflow-bundle.ts';
import { countActivities, runWorkers } from './worker-run.ts';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { Config } from '../config/config.ts';

/**
 * Slots in addition to those for long renderings: this many, plus one for each engine thread, are always available for
 * short work, however many videos are being rendered or waiting. Fetching the files of an input needs no thread, and a
 * task that has fetched them waits for one in the pool's own fair queue. Few, because tasks that wait there are no
 * longer ordered by Temporal.
 */
const STAGING_SLOTS = 4;
/**
 * Activity slots in addition to those for archiving: for tasks that get no archiving slot and retry, and for promotions
 * of outputs.
 */
const SPARE_ARCHIVING_SLOTS = 10;
/** The maximum number of concurrent settlements and of stop requests that get no slot; the database pool bounds it. */
const SHORT_SLOTS = 40;
/** The passes of every minute and of every hour, one slot each. */
const MAINTENANCE_SLOTS = 8;
/** The maximum number of jobs that are awaited at the same time. Each needs only a timer and an occasional request. */
const WAITING_SLOTS = 500;
/**
 * A cancelled activity learns of it after at most this long: the default throttles to most of the heartbeat time-out.
 */
const HEARTBEAT_THROTTLE = '2 seconds';
/**
 * Running activities were requested to end, and have this long to report back: a write to the database and a report to
 * Temporal, on a machine that is busy with the rest of a deployment.
 */
const FORCE_AFTER_MS = 5_000;

export interface RunningWorker {
  /** Resolves when the workers have stopped; rejects if one of them failed. */
  readonly finished: Promise<void>;
  /** For each queue that it has to serve: whether it takes work from it. */
  running(): ReadonlyMap<QueueName, boolean>;
  /**
   * Takes no new work, gives running activities the grace time, then hands their work back; but work at an upstream
   * that must not be requested twice has the upstreams' own grace time.
   */
  shutdown(): void;
}

export interface WorkerDependencies {
  readonly connection: NativeConnection;
  readonly activityContext: Omit<ActivityContext, 'stopping' | 'ending'>;
  readonly tracing: Tracing;
  readonly workflowBundle: WorkflowBundle;
  /** Under which Temporal knows the workers of this process. */
  readonly identity: string;
  /** The installation whose queues are served. */
  readonly installationId: string;
}

/** Starts the workers of the configured queues. */
export async function startWorker(dependencies: WorkerDependencies): Promise<RunningWorker> {
  const { config, logger } = dependencies.activityContext;
  const stale = await removeStaleScratch(config.worker.scratchDir);
  if (stale > 0) logger.info({ directories: stale }, 'removed scratch files of workers that were killed');
  const [stopping, ending] = [new AbortController(), new AbortController()];
  const { identity } = dependencies;
  const signals = { stopping: stopping.signal, ending: ending.signal };
  const activityContext = { ...dependencies.activityContext, ...signals, identity };
  const { counted: activities, count } = countActivities(createActivities(activityContext));
  const workers: Worker[] = [];
  for (const queue of config.worker.queues) {
    workers.push(await Worker.create(optionsFor(queue, { ...dependencies, activityContext, activities })));
  }
  const running = () =>
    new Map(config.worker.queues.map((queue, index) => [queue, workers[index]?.getState() === 'RUNNING']));
  const handBack = (): void => {
    stopping.abort(new WorkerStoppingError());
    // Temporal's SDK reports this as well, but not to an activity whose attempt has already been ended.
    setTimeout(
      () => ending.abort(new WorkerStoppingError()),
      config.worker.upstreamGraceMs - config.shutdownGraceMs,
    ).unref();
    const index = config.worker.queues.indexOf('waiting');
    const inFlight = workers[index]?.getStatus().numInFlightActivities ?? 0;
    if (inFlight === 0) return;
    const seconds = config.worker.upstreamGraceMs / 1000;
    logger.info({ activities: inFlight, seconds }, 'waiting for upstreams; a second signal stops it at once');
  };
  const { finished, shutdown } = runWorkers({
    workers,
    handBackAfterMs: config.shutdownGraceMs,
    handBack,
    graceMs: config.worker.upstreamGraceMs + FORCE_AFTER_MS,
    activities: count,
    logger,
  });
  return { finished, running, shutdown };
}

function generationSlots(threads: number): number {
  return longRenderingLimits(threads).activeAndWaiting + threads + STAGING_SLOTS;
}

function optionsFor(
  queue: QueueName,
  {
    connection,
    activityContext,
    activities,
    tracing,
    workflowBundle,
    identity,
    installationId,
  }: WorkerDependencies & { readonly activityContext: ActivityContext; readonly activities: Activities },
): WorkerOptions {
  const { config } = activityContext;
  const shared: WorkerOptions = {
    connection,
    namespace: config.temporal.namespace,
    identity,
    taskQueue: taskQueueOf(queue, installationId),
    activities,
    ...(tracing === NO_TRACES
      ? {}
      : { interceptors: { activity: [traceActivities(tracing, () => activityContext.now())] } }),
    ...activityPolls(config.worker),
    ...versionOf(config.worker, installationId),
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    shutdownGraceTime: config.shutdownGraceMs,
    shutdownForceTime: config.shutdownGraceMs + FORCE_AFTER_MS,
  };
  const workflows = { workflowBundle, ...workflowPolls(config.worker) };
  switch (queue) {
    case 'media':
      return { ...shared, ...workflows, maxConcurrentActivityTaskExecutions: SHORT_SLOTS + STOP_SLOTS };
    case 'archiving':
      return { ...shared, maxConcurrentActivityTaskExecutions: ARCHIVING_SLOTS + SPARE_ARCHIVING_SLOTS };
    case 'maintenance':
      return { ...shared, maxConcurrentActivityTaskExecutions: MAINTENANCE_SLOTS };
    case 'generation':
      // Hardly more slots than engine threads: the backlog stays in Temporal, where it is distributed fairly.
      return { ...shared, maxConcurrentActivityTaskExecutions: generationSlots(config.worker.engineThreads) };
    case 'waiting':
      return {
        ...shared,
        maxConcurrentActivityTaskExecutions: WAITING_SLOTS,
        // Work that can be handed back is handed back after the other queues' grace time: the rest are submits that
        // must not be repeated.
        shutdownGraceTime: config.worker.upstreamGraceMs,
        shutdownForceTime: config.worker.upstreamGraceMs + FORCE_AFTER_MS,
      };
    case 'callbacks':
      return { ...shared, ...workflows, maxConcurrentActivityTaskExecutions: CALLBACK_SLOTS };
  }
}

/** Records each run of an activity in the trace of its task, including how long it waited for a worker. */
export function traceActivities(tracing: Tracing, now: () => number): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const startedAt = now();
        let failure: string | undefined;
        try {
          return await next(input);
        } catch (error) {
          failure = failureOf(error);
          throw error;
        } finally {
          const { activityType, attempt, taskQueue, workflowExecution, currentAttemptScheduledTimestampMs } = info;
          const taskId = taskOfWorkflow(workflowExecution?.workflowId ?? '');
          if (taskId !== undefined) {
            tracing.task(taskId, {
              name: activityType,
              startedAt,
              attributes: {
                'darkroom.task_id': taskId,
                'temporal.workflow_id': workflowExecution?.workflowId,
                'temporal.task_queue': taskQueue,
                'temporal.attempt': attempt,
                'darkroom.waited_ms': Math.max(0, startedAt - currentAttemptScheduledTimestampMs),
              },
              failure,
            });
          }
        }
      },
    },
  });
}

function failureOf(error: unknown): string {
  if (error instanceof CancelledFailure) return 'cancelled';
  // The types of our failures come from a closed list (activities/failures.ts).
  return error instanceof ApplicationFailure ? (error.type ?? 'failed') : 'failed';
}

type WorkerConfig = Config['worker'];

/**
 * Concurrent polls for activities. By default there is one: when a worker shuts down, the SDK stops listening at the
 * first poll that returns empty, and drops the activity that another one returns at that moment, which then waits for
 * its heartbeat time-out. The server must answer polls on shutdown (`frontend.enableCancelWorkerPollsOnShutdown`), and
 * a queue must have one partition (`matching.numTaskqueueReadPartitions`): a poll that is forwarded between partitions
 * can be lost too. Set as a poller behaviour because the SDK ignores `maxConcurrentActivityTaskPolls`.
 */
export function activityPolls({ polls }: WorkerConfig): Pick<WorkerOptions, 'activityTaskPollerBehavior'> {
  return { activityTaskPollerBehavior: { type: 'simple-maximum', maximum: polls.activities } };
}

/** Concurrent polls for steps of workflows, which are handed over again at once if one is lost. */
export function workflowPolls({ polls }: WorkerConfig): Pick<WorkerOptions, 'workflowTaskPollerBehavior'> {
  return { workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: polls.workflows } };
}

/** The release that a worker belongs to (docs/decisions/0025). Without a build id it has no version. */
export function versionOf(
  { buildId }: WorkerConfig,
  installationId: string,
): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (buildId === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: deploymentNameOf(installationId), buildId },
      useWorkerVersioning: true,
      // A workflow that stays on its release says so itself.
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

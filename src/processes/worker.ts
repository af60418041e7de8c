/**
 * The worker process: one Temporal worker for each task queue that it serves, all sharing one connection and one set of
 * activities (architecture, "Parts that run").
 */
import { Worker } from '@temporalio/worker';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { SHORT_SLOTS } from '../../activities/archive-downloads.ts';
import type { ActivityContext } from '../../activities/context.ts';
import { removeStaleScratch } from '../../activities/scratch.ts';
import { CALLBACK_SLOTS } from '../callbacks/delivery-slots.ts';
import { longRenderingsOf } from '../engines/long-renderings.ts';
import { TASK_QUEUES } from '../domain/workflow-ids.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import { NO_TRACES } from '../telemetry/tracing.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { WorkflowBundle } from '../temporal/workflow-bundle.ts';
import { traceActivities } from './traced-activities.ts';

/**
 * Generations beyond the long renderings: there are always so many slots, and one for each engine thread, for work that is
 * over soon, however many films are under way or wait. Fetching the files of an input needs no thread, and whoever has
 * fetched waits for one in the pool's own fair queue. Few, because those who wait there have left the order of Temporal.
 */
const STAGING_SLOTS = 4;
/** Jobs waited for at once: each is a timer and a request now and then. */
const WAITING_SLOTS = 500;
/** A cancelled activity hears of it after this long at most: the default throttles to most of the heartbeat time-out. */
const HEARTBEAT_THROTTLE = '2 seconds';
/**
 * Polls for activities at once. The SDK stops to listen at the first of them that comes back empty when a worker shuts
 * down, and drops what another one brings at that moment, which then waits for its heartbeat time-out: so there is no
 * other. The server must answer polls on shutdown (`frontend.enableCancelWorkerPollsOnShutdown`), and a queue must have
 * one partition (`matching.numTaskqueueReadPartitions`): a poll that is passed on between partitions can be lost too.
 * Given as a behaviour because the SDK ignores `maxConcurrentActivityTaskPolls`.
 */
const ACTIVITY_POLLS = 1;

export interface RunningWorker {
  /** Ends when the workers have stopped; throws when one of them failed. */
  readonly finished: Promise<void>;
  /** Of each queue that it is to serve: whether it takes work from it. */
  running(): ReadonlyMap<QueueName, boolean>;
  /** Takes no new work, gives what runs the grace time, then hands it back. */
  shutdown(): void;
}

export interface WorkerDependencies {
  readonly connection: NativeConnection;
  readonly activityContext: ActivityContext;
  readonly tracing: Tracing;
  readonly workflowBundle: WorkflowBundle;
}

/** Starts the workers of the configured queues. */
export async function startWorker(dependencies: WorkerDependencies): Promise<RunningWorker> {
  const { config, logger } = dependencies.activityContext;
  const stale = await removeStaleScratch(config.worker.scratchDir);
  if (stale > 0) logger.info({ folders: stale }, 'removed what killed workers had left behind');
  const workers: Worker[] = [];
  for (const queue of config.worker.queues) {
    workers.push(await Worker.create(optionsFor(queue, dependencies)));
  }
  const running = () =>
    new Map(config.worker.queues.map((queue, place) => [queue, workers[place]?.getState() === 'RUNNING']));
  const shutdown = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const finished = Promise.all(
    workers.map((worker) =>
      worker.run().catch((error: unknown) => {
        // One that fails takes the others along: half a worker would look healthy.
        shutdown();
        throw error;
      }),
    ),
  ).then(() => undefined);
  return { finished, running, shutdown };
}

function generationSlots(threads: number): number {
  return longRenderingsOf(threads).inProcess + threads + STAGING_SLOTS;
}

function optionsFor(
  queue: QueueName,
  { connection, activityContext, tracing, workflowBundle }: WorkerDependencies,
): WorkerOptions {
  const { config } = activityContext;
  const shared: WorkerOptions = {
    connection,
    namespace: config.temporal.namespace,
    taskQueue: TASK_QUEUES[queue],
    activities: createActivities(activityContext),
    ...(tracing === NO_TRACES
      ? {}
      : { interceptors: { activity: [traceActivities(tracing, () => activityContext.now())] } }),
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: ACTIVITY_POLLS },
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    shutdownGraceTime: config.shutdownGraceMs,
    shutdownForceTime: config.shutdownGraceMs + 2_000,
  };
  switch (queue) {
    case 'media':
      return { ...shared, workflowBundle, maxConcurrentActivityTaskExecutions: SHORT_SLOTS };
    case 'generation':
      // Hardly more slots than engine threads: the backlog stays in Temporal, where it is shared out fairly.
      return { ...shared, maxConcurrentActivityTaskExecutions: generationSlots(config.worker.engineThreads) };
    case 'waiting':
      return { ...shared, maxConcurrentActivityTaskExecutions: WAITING_SLOTS };
    case 'callbacks':
      return { ...shared, workflowBundle, maxConcurrentActivityTaskExecutions: CALLBACK_SLOTS };
  }
}

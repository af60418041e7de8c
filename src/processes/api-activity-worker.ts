/**
 * A part of an api that does work from a queue of Temporal: its activities need what only an api has, the catalogue as
 * it is now and the sources of text answers.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import type { NativeConnection } from '@temporalio/worker';
import { taskQueueOf } from '../domain/workflow-ids.ts';
import type { ApiQueueName } from '../domain/workflow-ids.ts';
import { WorkerStoppingError } from '../generation/stopped.ts';
import type { HttpContext } from '../http/app/context.ts';
import { activityPolls } from './worker-options.ts';
import { countActivities, runWorkers } from './worker-run.ts';

const HEARTBEAT_THROTTLE = '2 seconds';
/** As long as the worker's forced end, so that an activity can report back. */
const FORCE_AFTER_MS = 5_000;
/** How long until a worker that failed is replaced. */
const RESTART_MS = 5_000;

export interface ApiActivityWorker {
  close(): Promise<void>;
}

export interface ApiActivityWorkerOptions {
  readonly http: Pick<HttpContext, 'config' | 'logger'>;
  readonly connection: NativeConnection;
  readonly installationId: string;
  readonly queue: ApiQueueName;
  /** Activities at the same time; others wait in Temporal, by accounts in turn. */
  readonly slots: number;
  /** How long activities that cannot be handed back may take when the process stops. */
  readonly graceMs: number;
  createActivities(stops: WorkerStops): Parameters<typeof countActivities>[0];
}

export interface WorkerStops {
  /** Aborted when the process stops. */
  readonly stopping: AbortSignal;
  /** Aborted when it has waited for as long as it may. */
  readonly ending: AbortSignal;
}

export function startApiActivityWorker(options: ApiActivityWorkerOptions): ApiActivityWorker {
  const { http, connection, installationId, queue, slots, graceMs } = options;
  const [stopping, ending] = [new AbortController(), new AbortController()];
  // Each activity adds a listener.
  setMaxListeners(0, stopping.signal, ending.signal);
  const stops = { stopping: stopping.signal, ending: ending.signal };
  const { counted: activities, count } = countActivities(options.createActivities(stops));
  let shutdown = (): void => {};

  const runOnce = async (): Promise<void> => {
    const worker = await Worker.create({
      connection,
      namespace: http.config.temporal.namespace,
      taskQueue: taskQueueOf(queue, installationId),
      activities,
      maxConcurrentActivityTaskExecutions: slots,
      ...activityPolls(http.config.worker),
      maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
      defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
      shutdownGraceTime: graceMs,
      shutdownForceTime: graceMs + FORCE_AFTER_MS,
    });
    const run = runWorkers({
      workers: [worker],
      handBackAfterMs: 0,
      // A worker that fails is replaced, and its activities go on: only the process stops them.
      handBack: () => {},
      graceMs: 0,
      activities: count,
      logger: http.logger,
    });
    shutdown = () => run.shutdown();
    if (stopping.signal.aborted) shutdown();
    await run.finished;
  };
  /** Activities that Temporal has given up, or whose worker failed, are not awaited by a worker. */
  const settledWithin = async (ms: number): Promise<void> => {
    const over = new AbortController();
    await Promise.race([count.settled(), sleep(ms, undefined, { signal: over.signal })]);
    over.abort();
  };
  const finished = (async () => {
    while (!stopping.signal.aborted) {
      // Requests are served without it: unlike a worker, an api does not end because of its failure.
      await runOnce().catch((error: unknown) =>
        http.logger.error({ err: error, queue }, 'a worker of this api failed; starting another'),
      );
      if (!stopping.signal.aborted) await sleep(RESTART_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return {
    async close() {
      stopping.abort(new WorkerStoppingError());
      const timer = setTimeout(() => ending.abort(new WorkerStoppingError()), graceMs);
      shutdown();
      await Promise.all([finished, settledWithin(graceMs + FORCE_AFTER_MS)]);
      clearTimeout(timer);
    },
  };
}

/**
 * A part of an api that does work from a queue of Temporal: its activities need what only an api has, the catalogue as
 * it is now and the sources of text answers.
 */
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
  /** @param stopping aborted when the process stops. */
  createActivities(stopping: AbortSignal): Parameters<typeof countActivities>[0];
}

export function startApiActivityWorker(options: ApiActivityWorkerOptions): ApiActivityWorker {
  const { http, connection, installationId, queue, slots } = options;
  const stopping = new AbortController();
  const { counted: activities, count } = countActivities(options.createActivities(stopping.signal));
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
      shutdownGraceTime: 0,
      shutdownForceTime: FORCE_AFTER_MS,
    });
    const run = runWorkers({
      workers: [worker],
      handBackAfterMs: 0,
      handBack: () => stopping.abort(new WorkerStoppingError()),
      graceMs: FORCE_AFTER_MS,
      activities: count,
      logger: http.logger,
    });
    shutdown = () => run.shutdown();
    if (stopping.signal.aborted) shutdown();
    await run.finished;
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
      shutdown();
      await finished;
    },
  };
}

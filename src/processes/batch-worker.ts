/**
 * The part of an api that works on batches: a Temporal worker for the one activity that creates tasks, which needs the
 * catalogue as it is now and not the definitions that tasks have pinned.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import type { NativeConnection } from '@temporalio/worker';
import { createApiActivities } from '../../activities/index.ts';
import { createPaces } from '../batches/pace.ts';
import { taskQueueOf } from '../domain/workflow-ids.ts';
import { WorkerStoppingError } from '../generation/stopped.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createLineEndpoints } from '../http/media-calls/line-endpoints.ts';
import { countActivities, runWorkers } from './worker-run.ts';

/** Batches that one process works on at the same time; others wait in Temporal, by accounts in turn. */
const BATCH_SLOTS = 10;
const HEARTBEAT_THROTTLE = '2 seconds';
/** As long as the worker's forced end, so that an activity can report back. */
const FORCE_AFTER_MS = 5_000;
/** How long until a worker that failed is replaced. */
const RESTART_MS = 5_000;

export interface BatchWorker {
  close(): Promise<void>;
}

export function startBatchWorker(http: HttpContext, connection: NativeConnection, installationId: string): BatchWorker {
  const stopping = new AbortController();
  const context = {
    ...http,
    installationId,
    endpoints: createLineEndpoints(http),
    paces: createPaces(),
    nextTurn: () => http.turns.next(),
  };
  const { counted: activities, count } = countActivities(createApiActivities(context, stopping.signal));
  let shutdown = (): void => {};

  const runOnce = async (): Promise<void> => {
    const worker = await Worker.create({
      connection,
      namespace: http.config.temporal.namespace,
      taskQueue: taskQueueOf('batches', installationId),
      activities,
      maxConcurrentActivityTaskExecutions: BATCH_SLOTS,
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
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
      await runOnce().catch((error: unknown) => http.logger.error({ err: error }, 'the worker of batches failed'));
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

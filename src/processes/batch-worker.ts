/**
 * The part of an api that works on batches, from a queue of Temporal: it creates tasks, which needs the catalogue as it
 * is now and not the definitions that tasks have pinned.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import type { NativeConnection } from '@temporalio/worker';
import { createBatchActivities } from '../../activities/index.ts';
import type { BatchContext } from '../batches/context.ts';
import { createPaces } from '../batches/pace.ts';
import { taskQueueOf } from '../domain/workflow-ids.ts';
import { createSlotShares } from '../generation/slot-shares.ts';
import { WorkerStoppingError } from '../generation/stopped.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createLineBodies } from '../http/bodies/line-bodies.ts';
import { createLineEndpoints } from '../http/media-calls/line-endpoints.ts';
import { activityPolls } from './worker-options.ts';
import { countActivities, runWorkers } from './worker-run.ts';

/** Batches that one process works on at the same time; an account has at most as many of them as it leaves free. */
const BATCH_SLOTS = 10;
/** The longest wait of a batch whose account has its share. */
const LONGEST_RETURN_MS = 10_000;
const HEARTBEAT_THROTTLE = '2 seconds';
/** As long as the worker's forced end, so that an activity can report back. */
const FORCE_AFTER_MS = 5_000;
/** How long until a worker that failed is replaced. */
const RESTART_MS = 5_000;

export interface BatchWorker {
  close(): Promise<void>;
}

/** What the work on batches needs, of an api. */
export function createBatchContext(http: HttpContext, installationId: string): BatchContext {
  return {
    ...http,
    installationId,
    endpoints: createLineEndpoints(http),
    paces: createPaces(),
    slots: createSlotShares({
      resource: 'batch_slots',
      capacity: BATCH_SLOTS,
      leavesFree: true,
      longestReturnMs: LONGEST_RETURN_MS,
      metrics: http.metrics.shares,
    }),
    lineBodies: createLineBodies(http),
    nextTurn: () => http.turns.next(),
  };
}

export function startBatchWorker(http: HttpContext, connection: NativeConnection, installationId: string): BatchWorker {
  const { config, logger } = http;
  const stopping = new AbortController();
  const context = createBatchContext(http, installationId);
  const { counted: activities, count } = countActivities(createBatchActivities(context, stopping.signal));
  let shutdown = (): void => {};

  const runOnce = async (): Promise<void> => {
    const worker = await Worker.create({
      connection,
      namespace: config.temporal.namespace,
      taskQueue: taskQueueOf('batches', installationId),
      activities,
      // Others wait in Temporal, by accounts in turn.
      maxConcurrentActivityTaskExecutions: BATCH_SLOTS,
      ...activityPolls(config.worker),
      maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
      defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
      shutdownForceTime: FORCE_AFTER_MS,
    });
    const run = runWorkers({
      workers: [worker],
      handBackAfterMs: 0,
      // A worker that fails is replaced, and its activities go on: only the process stops them.
      handBack: () => {},
      graceMs: 0,
      activities: count,
      logger,
    });
    shutdown = () => run.shutdown();
    if (stopping.signal.aborted) shutdown();
    await run.finished;
  };
  const finished = (async () => {
    while (!stopping.signal.aborted) {
      // Requests are served without it: unlike a worker, an api does not end because of its failure.
      await runOnce().catch((error: unknown) =>
        logger.error({ err: error }, 'the worker of batches failed; starting another'),
      );
      if (!stopping.signal.aborted) await sleep(RESTART_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return {
    async close() {
      stopping.abort(new WorkerStoppingError());
      shutdown();
      const over = new AbortController();
      // Activities that Temporal has given up, or whose worker failed, are not awaited by a worker.
      const settled = Promise.race([count.settled(), sleep(FORCE_AFTER_MS, undefined, { signal: over.signal })]);
      await Promise.all([finished, settled]);
      over.abort();
    },
  };
}

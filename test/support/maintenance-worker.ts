/**
 * A worker in the process of a test that runs the maintenance workflows on the app's database, store and clock, on a
 * real Temporal server: a test starts on demand what the Schedules would start.
 */
import type { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import {
  createArchivingSlots,
  createVideoArchivingSlots,
  createFrameDecoders,
  createStopSlots,
  createInputFetches,
} from '../../src/generation/slots.ts';
import type { ActivityContext } from '../../activities/context.ts';
import { readInstallationId } from '../../src/database/migrate.ts';
import { newId } from '../../src/domain/ids.ts';
import { taskQueueOf } from '../../src/domain/workflow-ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { createWorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import type { WorkflowGateway } from '../../src/temporal/workflow-gateway.ts';
import { createCancelFeed } from '../../src/tasks/record/cancel-feed.ts';
import { createUpstreams } from '../../src/upstreams/upstreams.ts';
import { createSettler } from '../../src/tasks/lifecycle/settle-queue.ts';
import type { ExpireResult } from '../../workflows/contracts.ts';
import type { ServedApp } from '../http/serve.ts';
import { runActivity } from './run-activity.ts';
import { createTestNamespace } from './test-namespace.ts';

export interface MaintenanceWorker {
  readonly gateway: WorkflowGateway;
  readonly client: Client;
  /** Runs one workflow until it ends. @throws its failure. */
  run<Result>(type: string, ...args: unknown[]): Promise<Result>;
  /** Runs one part of the workflow `maintain` alone: records what has expired. */
  expire(): Promise<ExpireResult>;
  close(): Promise<void>;
}

/**
 * @param changes replaces parts of the app's context for the activities.
 * @param queues served in addition to those of maintenance.
 */
export async function startMaintenanceWorker(
  served: ServedApp,
  changes: Partial<ActivityContext> = {},
  queues: readonly 'callbacks'[] = [],
): Promise<MaintenanceWorker> {
  const namespace = await createTestNamespace();
  const installationId = await readInstallationId(served.http.database);
  const gateway = createWorkflowGateway(namespace.client, installationId);
  const activities = createActivities({
    ...served.http,
    settler: createSettler({ ...served.http, retentionDays: 7 }),
    providers: new Map(),
    inputFetches: createInputFetches(),
    archivingSlots: createArchivingSlots(),
    videoArchivingSlots: createVideoArchivingSlots(),
    frameDecoders: createFrameDecoders(),
    stopSlots: createStopSlots(),
    upstreams: createUpstreams({ ...served.http, publicUrl: served.url, signingKey: 'x'.repeat(32) }),
    stopping: new AbortController().signal,
    ending: new AbortController().signal,
    cancels: createCancelFeed(served.http),
    describeTask: (taskId) => gateway.describeTask(taskId),
    readRun: (taskId, runId) => gateway.readRun(taskId, runId),
    recordHeartbeat: (taskToken, details) => gateway.recordHeartbeat(taskToken, details),
    ...changes,
  });
  const workflowBundle = await loadWorkflowBundle(silentLogger());
  const workers: Worker[] = [];
  for (const queue of ['media', 'archiving', 'maintenance', ...queues] as const) {
    workers.push(
      await Worker.create({
        connection: namespace.connection,
        namespace: namespace.name,
        taskQueue: taskQueueOf(queue, installationId),
        activities,
        ...(queue === 'media' || queue === 'callbacks' ? { workflowBundle } : {}),
      }),
    );
  }
  const finished = Promise.all(workers.map((worker) => worker.run()));
  return {
    gateway,
    client: namespace.client,
    run<Result>(type: string, ...args: unknown[]): Promise<Result> {
      return namespace.client.workflow.execute(type, {
        workflowId: newId('req'),
        taskQueue: taskQueueOf('media', installationId),
        args,
      }) as Promise<Result>;
    },
    expire: () => runActivity(() => activities.expireOutputs()),
    async close() {
      for (const worker of workers) worker.shutdown();
      await finished;
      await namespace.close();
    },
  };
}

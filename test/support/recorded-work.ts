/** Batches, for the histories of their workflows (record-histories.ts). */
import type { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { taskQueueOf } from '../../src/domain/workflow-ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import type { ApiActivities } from '../../workflows/contracts.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { BatchClient, lineOf } from '../e2e/batch-client.ts';
import type { DarkroomWithUpstreams } from './darkroom-with-upstreams.ts';
import type { History } from './history-texts.ts';
import { createTestNamespace } from './test-namespace.ts';

/** How a history comes about. */
type Record = (outside: DarkroomWithUpstreams) => Promise<History>;

/** By the name of its file. */
export const WORK: readonly { readonly name: string; readonly record: Record }[] = [
  { name: 'batch-in-steps', record: recordBatch },
  { name: 'batch-continued', record: recordContinuedBatch },
];

/** A batch whose line takes longer than a step. */
async function recordBatch({ darkroom }: DarkroomWithUpstreams): Promise<History> {
  const batches = new BatchClient(darkroom.url, await darkroom.createAccount());
  const body = { model: 'test/openai', input: { prompt: 'a lighthouse [slow 25000]' } };
  const { id } = await batches.create('/v1/tasks', [lineOf('/v1/tasks', 'a', body)]);
  return closedHistory(darkroom.temporal, id);
}

async function closedHistory(temporal: Client, workflowId: string): Promise<History> {
  const handle = temporal.workflow.getHandle(workflowId);
  await waitFor(`the end of ${workflowId}`, async () => {
    // The launcher may not have started it yet.
    const status = await handle.describe().then(
      (found) => found.status.name,
      () => undefined,
    );
    return status === 'COMPLETED';
  });
  return handle.fetchHistory();
}

/**
 * A batch that continues as new, which takes a real one half an hour: its steps are made here.
 *
 * @returns the history of its first run.
 */
async function recordContinuedBatch(): Promise<History> {
  const namespace = await createTestNamespace();
  const queue = (name: 'media' | 'batches') => taskQueueOf(name, 'recorded');
  let steps = 0;
  const activities: Pick<ApiActivities, 'advanceBatch'> = {
    advanceBatch() {
      steps += 1;
      return Promise.resolve({ isEnded: steps > 100 });
    },
  };
  const options = { connection: namespace.connection, namespace: namespace.name };
  const workflowBundle = await loadWorkflowBundle(silentLogger());
  const ofWorkflows = await Worker.create({ ...options, taskQueue: queue('media'), workflowBundle });
  const ofActivities = await Worker.create({ ...options, taskQueue: queue('batches'), activities });
  const workflowId = 'batch_recorded';
  return ofWorkflows.runUntil(() =>
    ofActivities.runUntil(async () => {
      const started = await namespace.client.workflow.start('runBatch', {
        workflowId,
        taskQueue: queue('media'),
        args: [{ batchId: workflowId }],
      });
      await started.result();
      return namespace.client.workflow.getHandle(workflowId, started.firstExecutionRunId).fetchHistory();
    }),
  );
}

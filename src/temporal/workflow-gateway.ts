/**
 * What the program tells and asks Temporal about single workflows. Every call is bounded in time, and everything that
 * is started twice is started once: the workflow id is the idempotency key.
 */
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { WorkflowCondition } from '../domain/task-status.ts';
import {
  DELIVER_AGAIN_SIGNAL,
  TASK_QUEUES,
  callbackWorkflowId,
  promotionWorkflowId,
  stopWorkflowId,
} from '../domain/workflow-ids.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

/** Below the outbox's lease (tasks/outbox.ts), so that a claim does not come due while it is being delivered. */
const START_TIMEOUT_MS = 10_000;
/** A reader's repair does not wait longer; `unknown` is an answer too. */
const DESCRIBE_TIMEOUT_MS = 3_000;

/** What a task's workflow is started with. The first part is its argument; see workflows/contracts.ts. */
export interface TaskStart {
  readonly taskId: TaskId;
  readonly accountId: string;
  readonly model: string;
  readonly route: string | null;
  readonly handlingSeconds: number;
  readonly archivingSeconds: number;
  readonly isUpstream: boolean;
}

export interface WorkflowGateway {
  /** Starts a task's workflow; one that was started before is no error. */
  startTask(task: TaskStart): Promise<void>;
  /** Starts the delivery of a task's callback; one that runs already looks once more when it is done. */
  startCallback(taskId: TaskId, accountId: string): Promise<void>;
  /** Starts telling a provider to stop; one that runs already is no error. */
  startStop(taskId: TaskId, accountId: string): Promise<void>;
  /** Starts making an output persistent; one that runs already is no error. */
  startPromotion(outputId: string, accountId: string): Promise<void>;
  /** Asks a task's workflow to end. @returns false where there is none (yet). */
  cancelTask(taskId: TaskId): Promise<boolean>;
  /** What became of a task's workflow; `unknown` when Temporal does not answer. */
  describeTask(taskId: TaskId): Promise<WorkflowCondition>;
}

export function createWorkflowGateway(client: Client): WorkflowGateway {
  const bounded = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + timeoutMs, call);

  /** Starts one of the workflows that do a single thing: it may run again when it is over. */
  const startShort = (
    type: string,
    workflowId: string,
    input: Readonly<Record<string, string>>,
    accountId: string,
    summary: string,
  ): Promise<void> =>
    ignoringDuplicates(() =>
      bounded(START_TIMEOUT_MS, () =>
        client.workflow.start(type, {
          workflowId,
          taskQueue: TASK_QUEUES.media,
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          args: [input],
          searchAttributes: { AccountId: [accountId] },
          staticSummary: summary,
          priority: { fairnessKey: accountId },
        }),
      ),
    );

  return {
    async startTask(task) {
      const { taskId, route, ...facts } = task;
      await ignoringDuplicates(() =>
        bounded(START_TIMEOUT_MS, () =>
          client.workflow.start('mediaTask', {
            workflowId: taskId,
            taskQueue: TASK_QUEUES.media,
            workflowIdReusePolicy: 'REJECT_DUPLICATE',
            args: [{ taskId, ...facts, ...(route === null ? {} : { route }) }],
            searchAttributes: {
              TaskStatus: ['queued'],
              AccountId: [task.accountId],
              Model: [task.model],
              ...(route === null ? {} : { Route: [route] }),
            },
            staticSummary: `${task.model} for ${task.accountId}`,
            // One account's backlog does not hold up another's (matching.enableFairness).
            priority: { fairnessKey: task.accountId },
          }),
        ),
      );
    },
    async startCallback(taskId, accountId) {
      const options = {
        workflowId: callbackWorkflowId(taskId),
        taskQueue: TASK_QUEUES.callbacks,
        // A terminated delivery may be started again: which attempts are left stands in PostgreSQL.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        args: [{ taskId }],
        searchAttributes: { AccountId: [accountId] },
        staticSummary: `callback of ${taskId}`,
        priority: { fairnessKey: accountId },
      } as const;
      try {
        await bounded(START_TIMEOUT_MS, () => client.workflow.start('deliverCallback', options));
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        // It looks once more before it ends. Where it ends in this very moment, another run begins.
        const again = { ...options, signal: DELIVER_AGAIN_SIGNAL };
        await bounded(START_TIMEOUT_MS, () => client.workflow.signalWithStart('deliverCallback', again));
      }
    },
    startStop: (taskId, accountId) =>
      startShort('stopGeneration', stopWorkflowId(taskId), { taskId }, accountId, `stop ${taskId} at its provider`),
    startPromotion: (outputId, accountId) =>
      startShort('promoteOutput', promotionWorkflowId(outputId), { outputId }, accountId, `promote ${outputId}`),
    async cancelTask(taskId) {
      try {
        await bounded(START_TIMEOUT_MS, () => client.workflow.getHandle(taskId).cancel());
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },
    async describeTask(taskId) {
      try {
        const { status } = await bounded(DESCRIBE_TIMEOUT_MS, () => client.workflow.getHandle(taskId).describe());
        if (status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW') return 'running';
        return status.name === 'COMPLETED' ? 'completed' : 'abnormal';
      } catch (error) {
        return error instanceof WorkflowNotFoundError ? 'missing' : 'unknown';
      }
    },
  };
}

async function ignoringDuplicates(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

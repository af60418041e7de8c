/**
 * What the program tells and asks Temporal about single workflows. Every call is bounded in time, and everything that
 * is started twice is started once: the workflow id is the idempotency key.
 */
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { RunRecord } from '../domain/run-record.ts';
import type { WorkflowCondition } from '../domain/task-status.ts';
import {
  DELIVER_AGAIN_SIGNAL,
  SLOT_SIGNAL,
  callbackWorkflowId,
  promotionWorkflowId,
  stopWorkflowId,
  taskQueueOf,
} from '../domain/workflow-ids.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { readRunHistory } from './run-history.ts';

/** Below the outbox's lease (tasks/outbox/outbox.ts), so that a claim does not come due while it is being delivered. */
const START_TIMEOUT_MS = 10_000;
/** A reader's repair does not wait longer; `unknown` is an answer too. */
const DESCRIBE_TIMEOUT_MS = 3_000;
/** An attempt waits for it, and is taken for dead without a heartbeat in ten seconds (workflows/activity-options.ts). */
const HEARTBEAT_TIMEOUT_MS = 2_000;

/** What a task's workflow is started with. The first part is its argument; see workflows/contracts.ts. */
export interface TaskStart {
  readonly taskId: TaskId;
  readonly accountId: string;
  readonly model: string;
  readonly route: string | null;
  readonly handlingSeconds: number;
  readonly archivingSeconds: number;
  readonly queuedSeconds: number;
  readonly isUpstream: boolean;
  readonly isCapped?: boolean;
  readonly requestHash?: string;
}

/** What asking for a task's workflow came to: it was started or runs already, or there was one that has closed. */
export type StartResult = { readonly kind: 'running' } | { readonly kind: 'closed'; readonly runId: string };

export interface WorkflowGateway {
  /**
   * Starts a task's workflow; one that was started before is no error.
   *
   * @param earlierRunId a run of it that has closed, after which another is wanted all the same.
   */
  startTask(task: TaskStart, earlierRunId?: string): Promise<StartResult>;
  /** Starts the delivery of a task's callback. @returns false where one runs already, of which nothing is asked. */
  startCallback(taskId: TaskId, accountId: string): Promise<boolean>;
  /** Has the delivery that runs look once more when it is done; where none does any more, another is started. */
  deliverAgain(taskId: TaskId, accountId: string): Promise<void>;
  /** Starts telling a provider to stop; one that runs already is no error. */
  startStop(taskId: TaskId, accountId: string): Promise<void>;
  /** Starts making an output persistent; one that runs already is no error. */
  startPromotion(outputId: string, accountId: string): Promise<void>;
  /** Asks a task's workflow to end. @returns false where there is none (yet). */
  cancelTask(taskId: TaskId): Promise<boolean>;
  /** Tells a task's workflow that it has a slot of the upstream that it waits for; one that is over need not know. */
  wakeTask(taskId: TaskId): Promise<void>;
  /** What became of a task's workflow; `unknown` when Temporal does not answer. */
  describeTask(taskId: TaskId): Promise<WorkflowCondition>;
  /** What one run of a task's workflow had brought about; undefined: Temporal keeps its history no longer. */
  readRun(taskId: TaskId, runId: string): Promise<RunRecord | undefined>;
  /**
   * Sends one heartbeat of an activity's attempt and waits until Temporal has it, where the SDK's own go out some time.
   *
   * @returns false where the attempt is over: it had timed out, and another may be at work.
   */
  recordHeartbeat(taskToken: Uint8Array, details: object): Promise<boolean>;
}

/** @param installationId whose workers are to do the work. */
export function createWorkflowGateway(client: Client, installationId: string): WorkflowGateway {
  const mediaQueue = taskQueueOf('media', installationId);
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
          taskQueue: mediaQueue,
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          args: [input],
          searchAttributes: { AccountId: [accountId] },
          staticSummary: summary,
          priority: { fairnessKey: accountId },
        }),
      ),
    );

  const callbackOptions = (taskId: TaskId, accountId: string) =>
    ({
      workflowId: callbackWorkflowId(taskId),
      taskQueue: taskQueueOf('callbacks', installationId),
      // A terminated delivery may be started again: which attempts are left stands in PostgreSQL.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ taskId }],
      searchAttributes: { AccountId: [accountId] },
      staticSummary: `callback of ${taskId}`,
      priority: { fairnessKey: accountId },
    }) as const;

  return {
    async startTask(task, earlierRunId) {
      const { taskId, route, ...facts } = task;
      const input = {
        taskId,
        ...facts,
        ...(route === null ? {} : { route }),
        ...(earlierRunId === undefined ? {} : { earlierRunId }),
      };
      try {
        await bounded(START_TIMEOUT_MS, () =>
          client.workflow.start('mediaTask', {
            workflowId: taskId,
            taskQueue: mediaQueue,
            workflowIdReusePolicy: earlierRunId === undefined ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
            args: [input],
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
        );
        return { kind: 'running' };
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        const { status, runId } = await bounded(START_TIMEOUT_MS, () => client.workflow.getHandle(taskId).describe());
        return isOpen(status.name) ? { kind: 'running' } : { kind: 'closed', runId };
      }
    },
    async startCallback(taskId, accountId) {
      try {
        await bounded(START_TIMEOUT_MS, () =>
          client.workflow.start('deliverCallback', callbackOptions(taskId, accountId)),
        );
        return true;
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        return false;
      }
    },
    async deliverAgain(taskId, accountId) {
      // It looks once more before it ends. Where it ends in this very moment, another run begins.
      const again = { ...callbackOptions(taskId, accountId), signal: DELIVER_AGAIN_SIGNAL };
      await bounded(START_TIMEOUT_MS, () => client.workflow.signalWithStart('deliverCallback', again));
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
    async wakeTask(taskId) {
      try {
        await bounded(START_TIMEOUT_MS, () => client.workflow.getHandle(taskId).signal(SLOT_SIGNAL));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
    async describeTask(taskId) {
      try {
        const { status } = await bounded(DESCRIBE_TIMEOUT_MS, () => client.workflow.getHandle(taskId).describe());
        if (isOpen(status.name)) return 'running';
        // A workflow ends by itself only after it has settled its task, or because the task is not in the database.
        return ENDS_BY_ITSELF.includes(status.name) ? 'completed' : 'abnormal';
      } catch (error) {
        return error instanceof WorkflowNotFoundError ? 'missing' : 'unknown';
      }
    },
    async readRun(taskId, runId) {
      try {
        const handle = client.workflow.getHandle(taskId, runId);
        return readRunHistory(await bounded(START_TIMEOUT_MS, () => handle.fetchHistory()));
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    async recordHeartbeat(taskToken, details) {
      try {
        await bounded(HEARTBEAT_TIMEOUT_MS, () => client.activity.heartbeat(taskToken, details));
        return true;
      } catch (error) {
        if (error instanceof ActivityNotFoundError) return false;
        // It was recorded. What else the answer asks for, the SDK hears of as well, and does.
        if (ASKED_BY_HEARTBEAT.some((type) => error instanceof type)) return true;
        throw error;
      }
    },
  };
}

const ASKED_BY_HEARTBEAT = [ActivityCancelledError, ActivityPausedError, ActivityResetError];
const ENDS_BY_ITSELF: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED'];

function isOpen(status: string): boolean {
  return status === 'RUNNING' || status === 'PAUSED' || status === 'CONTINUED_AS_NEW';
}

async function ignoringDuplicates(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

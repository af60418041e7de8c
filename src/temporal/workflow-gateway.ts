/**
 * All requests to Temporal about single workflows. Every call is bounded in time, and starting something twice starts
 * it once: the workflow id is the idempotency key.
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
import { ApplicationFailure } from '@temporalio/common';
import type { Priority } from '@temporalio/common';
import { timeOutMs } from '../config/time-outs.ts';
import type { MediaTaskInput } from '../../workflows/contracts.ts';
import type { deliverCallback, mediaTask, promoteOutput, stopGeneration } from '../../workflows/index.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { WorkflowState } from '../domain/task-status.ts';
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

/**
 * Below the outbox's lease (tasks/outbox/outbox.ts), so that a claim does not become due while it is being delivered.
 */
const START_TIMEOUT_MS = timeOutMs(10_000);
/** The time limit of the lookup for the repair after a read, in milliseconds; after it the result is `unknown`. */
const DESCRIBE_TIMEOUT_MS = timeOutMs(3_000);
/**
 * An attempt waits for it, and is considered dead after ten seconds without a heartbeat
 * (workflows/activity-options.ts).
 */
const HEARTBEAT_TIMEOUT_MS = timeOutMs(2_000);

/** Temporal's own default is 3; a higher number waits longer. */
const BATCH_PRIORITY = 4;

/** What a task's workflow is started with; `route`: null for models without routes. */
export type TaskStart = Omit<MediaTaskInput, 'route' | 'earlierRunId'> & { readonly route: string | null };

/** `batch`: of the line of a batch, which waits behind everything else. */
export type WorkPriority = 'regular' | 'batch';

/** The result of starting a task's workflow: it was started or is already running, or there was one that has closed. */
export type StartResult = { readonly kind: 'running' } | { readonly kind: 'closed'; readonly runId: string };

export interface WorkflowGateway {
  /**
   * Starts a task's workflow; one that was started before is not an error.
   *
   * @param priority of its work where it waits for a worker.
   * @param earlierRunId a closed run of it, after which another one is started all the same.
   */
  startTask(task: TaskStart, priority: WorkPriority, earlierRunId?: string): Promise<StartResult>;
  /** Starts the delivery of a task's callback. @returns false if one is already running, which is not changed. */
  startCallback(taskId: TaskId, accountId: string): Promise<boolean>;
  /** Makes the running delivery check once more when it is done; if none is running any more, another is started. */
  deliverAgain(taskId: TaskId, accountId: string): Promise<void>;
  /** Starts a stop request to a provider; one that is already running is not an error. */
  startStop(taskId: TaskId, accountId: string): Promise<void>;
  /** Starts the promotion of an output to persistent storage; one that is already running is not an error. */
  startPromotion(outputId: string, accountId: string): Promise<void>;
  /** Requests the cancellation of a task's workflow. @returns false if there is none (yet). */
  cancelTask(taskId: TaskId): Promise<boolean>;
  /**
   * Notifies a task's workflow that it has a slot at the upstream that it waits for; a finished workflow needs no
   * notice.
   */
  wakeTask(taskId: TaskId): Promise<void>;
  /** The state of a task's workflow; `unknown` if Temporal does not answer. */
  describeTask(taskId: TaskId): Promise<WorkflowState>;
  /**
   * Fails attempts of an activity of a task that no worker works on any more: Temporal starts the next ones.
   *
   * @param isLost whether that is so of an attempt that a worker has in hand, as far as Temporal knows.
   * @returns how many.
   */
  failAttempts(taskId: TaskId, activityType: string, isLost: (attempt: StartedAttempt) => boolean): Promise<number>;
  /** The results of one run of a task's workflow; undefined: Temporal no longer retains its history. */
  readRun(taskId: TaskId, runId: string): Promise<RunRecord | undefined>;
  /**
   * Sends one heartbeat of an activity's attempt and waits until Temporal has recorded it; the SDK's own heartbeats
   * are sent later.
   *
   * @returns false if the attempt has ended: it timed out, and another one may be running.
   */
  recordHeartbeat(taskToken: Uint8Array, details: object | undefined): Promise<boolean>;
}

/** An attempt of an activity that Temporal has given to a worker. */
export interface StartedAttempt {
  /** Of the worker. */
  readonly identity: string;
  /** Milliseconds since 1970, by Temporal's clock. */
  readonly startedAt: number;
}

/** @param installationId whose workers have to do the work. */
export function createWorkflowGateway(client: Client, installationId: string): WorkflowGateway {
  const mediaQueue = taskQueueOf('media', installationId);
  const bounded = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + timeoutMs, call);

  /** Of one of the single-purpose workflows: it may run again when it has ended. */
  const shortOptions = (workflowId: string, accountId: string, summary: string, priority: WorkPriority = 'regular') =>
    ({
      workflowId,
      taskQueue: mediaQueue,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      searchAttributes: { AccountId: [accountId] },
      staticSummary: summary,
      priority: priorityIn(accountId, priority),
    }) as const;

  const callbackOptions = (taskId: TaskId, accountId: string) =>
    ({
      workflowId: callbackWorkflowId(taskId),
      taskQueue: taskQueueOf('callbacks', installationId),
      // A terminated delivery may be started again: the remaining attempts are stored in PostgreSQL.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ taskId }] satisfies Parameters<typeof deliverCallback>,
      searchAttributes: { AccountId: [accountId] },
      staticSummary: `callback of ${taskId}`,
      priority: { fairnessKey: accountId },
    }) as const;

  return {
    async startTask(task, priority, earlierRunId) {
      const { taskId, route, ...facts } = task;
      const input = {
        taskId,
        ...facts,
        ...(route === null ? {} : { route }),
        ...(earlierRunId === undefined ? {} : { earlierRunId }),
      };
      try {
        await bounded(START_TIMEOUT_MS, () =>
          client.workflow.start<typeof mediaTask>('mediaTask', {
            workflowId: taskId,
            taskQueue: mediaQueue,
            workflowIdReusePolicy: earlierRunId === undefined ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
            args: [input],
            searchAttributes: {
              TaskStatus: ['handling'],
              AccountId: [task.accountId],
              Model: [task.model],
              ...(route === null ? {} : { Route: [route] }),
            },
            staticSummary: `${task.model} for ${task.accountId}`,
            priority: priorityIn(task.accountId, priority),
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
          client.workflow.start<typeof deliverCallback>('deliverCallback', callbackOptions(taskId, accountId)),
        );
        return true;
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        return false;
      }
    },
    async deliverAgain(taskId, accountId) {
      // The delivery checks once more before it ends. If it ends at this very moment, another run begins.
      const again = { ...callbackOptions(taskId, accountId), signal: DELIVER_AGAIN_SIGNAL };
      await bounded(START_TIMEOUT_MS, () =>
        client.workflow.signalWithStart<typeof deliverCallback>('deliverCallback', again),
      );
    },
    startStop: (taskId, accountId) =>
      ignoringDuplicates(() =>
        bounded(START_TIMEOUT_MS, () =>
          client.workflow.start<typeof stopGeneration>('stopGeneration', {
            ...shortOptions(stopWorkflowId(taskId), accountId, `stop ${taskId} at its provider`),
            args: [{ taskId }],
          }),
        ),
      ),
    startPromotion: (outputId, accountId) =>
      ignoringDuplicates(() =>
        bounded(START_TIMEOUT_MS, () =>
          client.workflow.start<typeof promoteOutput>('promoteOutput', {
            ...shortOptions(promotionWorkflowId(outputId), accountId, `promote ${outputId}`),
            args: [{ outputId }],
          }),
        ),
      ),
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
    async failAttempts(taskId, activityType, isLost) {
      let failed = 0;
      try {
        const { raw, runId } = await bounded(DESCRIBE_TIMEOUT_MS, () => client.workflow.getHandle(taskId).describe());
        for (const pending of raw.pendingActivities ?? []) {
          const { activityId, activityType: type, lastWorkerIdentity, lastStartedTime, state } = pending;
          if (type?.name !== activityType || Number(state) !== STARTED) continue;
          const startedAt = Number(lastStartedTime?.seconds ?? 0) * 1_000 + (lastStartedTime?.nanos ?? 0) / 1e6;
          if (!isLost({ identity: lastWorkerIdentity ?? '', startedAt })) continue;
          const activity = { workflowId: taskId, runId, activityId: activityId ?? '' };
          const lost = ApplicationFailure.retryable('no worker works on this attempt any more', 'WorkerDied');
          await bounded(DESCRIBE_TIMEOUT_MS, () => client.activity.fail(activity, lost));
          failed += 1;
        }
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError || error instanceof ActivityNotFoundError)) throw error;
      }
      return failed;
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
        // It was recorded. Other requests in the answer reach the SDK as well, which handles them.
        if (HEARTBEAT_REQUESTS.some((type) => error instanceof type)) return true;
        throw error;
      }
    },
  };
}

const HEARTBEAT_REQUESTS = [ActivityCancelledError, ActivityPausedError, ActivityResetError];
/** The state of an activity that a worker has in hand: `PENDING_ACTIVITY_STATE_STARTED` of Temporal's API. */
const STARTED = 2;
const ENDS_BY_ITSELF: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** One account's backlog does not delay another's (matching.enableFairness). */
function priorityIn(accountId: string, priority: WorkPriority): Priority {
  return { fairnessKey: accountId, ...(priority === 'batch' ? { priorityKey: BATCH_PRIORITY } : {}) };
}

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

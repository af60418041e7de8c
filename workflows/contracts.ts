/**
 * The data passed between the launcher, the workflows and the activities: ids, times, small facts and members of
 * closed lists, never a prompt, an input or a provider's URL (architecture, "Nothing private or large passes
 * through Temporal"). Every field that is added after 1.0.0 stays optional forever: older histories do not have it.
 */
import type { FailureReason } from '../src/domain/failure-reason.ts';
import type { StoredFile, ArchivedOutput } from '../src/domain/run-record.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';

/** The argument of `mediaTask`. */
export interface MediaTaskInput {
  readonly taskId: TaskId;
  readonly accountId: string;
  readonly model: string;
  /** Absent for models without routes. */
  readonly route?: string;
  /** The model's own limit for `handling`. */
  readonly handlingSeconds: number;
  readonly archivingSeconds: number;
  /** How long it may wait for its turn. */
  readonly queuedSeconds: number;
  /** Whether an upstream does the work; false: an embedded engine of the worker. */
  readonly isUpstream: boolean;
  /** Whether the next upstream of its route may take it after a job that failed and is not billed. */
  readonly failsOver?: boolean;
  /**
   * Hash of the request for which it was started (src/tasks/record/fingerprint.ts); absent without an
   * Idempotency-Key.
   */
  readonly requestHash?: string;
  /**
   * A run of this task that has closed although the database says that the task is open: its results are taken over,
   * and not paid for again.
   */
  readonly earlierRunId?: string;
}

/** The argument of `awaitGeneration`. */
export interface AwaitInput extends MediaTaskInput {
  /**
   * Index of the upstream that has the job, if the workflow submits again when the result is `failed`; absent: a failed
   * job is the failure of the task.
   */
  readonly failsOverFrom?: number;
}

/**
 * The result of `submitGeneration`: finished files, a job to wait for, or that the task is already over; `ended`: an
 * earlier run had ended it, and the database has lost that; `waiting`: it is in the queue of an upstream, and is woken
 * when it has a slot there; `failed`: its job failed and is not billed, and the next upstream may have it. The fields
 * other than `kind` are for a later run, in case the database loses what was
 * recorded (src/temporal/run-history.ts).
 */
export interface SubmitResult {
  readonly kind: 'produced' | 'job' | 'over' | 'ended' | 'waiting' | 'failed';
  /** With `waiting`: the time after which the workflow submits again in any case, in milliseconds. */
  readonly waitMs?: number;
  /** With `ended`: the reason. */
  readonly reason?: FailureReason;
  /** With `ended`, for a cancelled task: as in `StopResult`. */
  readonly billedUsd?: string;
  readonly finishedFiles?: number;
  /** With `job`: its id, if that is plain enough for a history. */
  readonly jobId?: string;
  /** Index of the upstream that has the work, in its route's list. */
  readonly upstreamIndex?: number;
  /** With `produced`: the files, if all of them are in the store. */
  readonly files?: readonly StoredFile[];
  /** Hash of the request for which the work is done. */
  readonly requestHash?: string;
  /** With `produced`: whether every file is already in the object store, so that archiving has nothing to fetch. */
  readonly isStored?: boolean;
}

/** How an earlier run had ended its task, for a run that is about to end as cancelled; absent: it had not. */
export interface TakeOverResult {
  readonly decided?: SubmitResult;
}

/** The result of `archiveOutputs`; `over` if the task ended meanwhile. */
export type ArchiveResult =
  | {
      readonly kind: 'archived';
      readonly outputs: readonly ArchivedOutput[];
      /** How the same activity has settled the task; absent: it has not, and `settleTask` has to. */
      readonly settled?: SettleResult;
    }
  | { readonly kind: 'over' };

/** How a task has to end. */
export type SettleInput =
  | (SettledTask & { readonly status: 'success'; readonly outputs: readonly ArchivedOutput[] })
  | (SettledTask & {
      readonly status: 'fail';
      readonly reason: FailureReason;
      /** Decimal USD: the amount that the provider bills for a cancelled task. */
      readonly billedUsd?: string;
      /** As in `StopResult`. */
      readonly finishedFiles?: number;
    });

/** The task of a settlement. */
export interface SettledTask {
  readonly taskId: TaskId;
  /** Its owner. */
  readonly accountId: string;
  /** As in `MediaTaskInput`. */
  readonly requestHash?: string;
}

/** The argument of `stopGeneration`. */
export interface StopGenerationInput {
  readonly taskId: TaskId;
}

/** The argument of `recordCancel`. */
export interface RecordCancelInput {
  readonly taskId: TaskId;
}

/** The argument of `cancelGeneration`. */
export interface CancelInput extends StopGenerationInput {
  /**
   * The attempt with this number, from 1, is the last that may fail at the provider, and so is each later one; one that
   * found too many requests in progress is retried nevertheless.
   */
  readonly tries: number;
}

/** A provider's answer to a stop request; absent fields: it was not asked, or does not report them. */
export interface StopResult {
  readonly outcome?: 'cancelled' | 'too_late' | 'unsupported';
  /** Decimal USD. */
  readonly billedUsd?: string;
  /**
   * How many files it had finished before the stop request, if the price depends on that; 0: it does not report the
   * number. Absent: it had not finished.
   */
  readonly finishedFiles?: number;
}

/** How it actually ended, whatever decided that. */
export interface SettleResult {
  readonly status: 'success' | 'fail';
  readonly reason: FailureReason | null;
}

/** The argument of `deliverCallback`. */
export interface DeliverCallbackInput {
  readonly taskId: TaskId;
}

/** How a delivery ended. */
export interface DeliveryResult {
  readonly state: 'delivered' | 'stopped' | 'nothing_to_send';
}

/** What one part of the repair did. */
export interface ReconcileResult {
  readonly checked: number;
  readonly settled: number;
  readonly restarted: number;
  /** Where the next part of the pass begins; absent: everything was checked. */
  readonly next?: string;
}

/** The argument of `reconcileTasks`; absent: from the beginning. */
export interface ReconcileInput {
  readonly after?: string;
}

/** The argument of `promoteOutput`. */
export interface PromoteOutputInput {
  readonly outputId: string;
}

/** How a promotion ended; `given_up`: the output, or its bytes, are gone. */
export interface PromotionResult {
  readonly state: 'persistent' | 'given_up' | 'not_pending';
}

/** What one pass recorded as expired, and how many promotions it requested again. */
export interface ExpireResult {
  readonly outputs: number;
  readonly files: number;
  /** Inputs of tasks that ended long ago. */
  readonly inputs: number;
  /** Stored answers of text models, and records of responses that clients waited for. */
  readonly responses: number;
  readonly requested: number;
  /** Text calls that were pruned. */
  readonly textCalls: number;
  /** Tasks that were pruned. */
  readonly tasks: number;
}

/** The target of a sweep: the bytes of deleted objects, or objects that nothing names. */
export interface SweepInput {
  readonly target: 'deleted' | 'unnamed';
  /** Where an earlier activity of this sweep stopped, for it to be continued. */
  readonly after?: string;
}

/** How many objects a sweep deleted. */
export interface SweepResult {
  readonly deleted: number;
}

/** The result of one activity of a sweep. */
export interface SweepPart extends SweepResult {
  /** Where it stopped before the end, because its time was over. */
  readonly next?: string;
}

/** The results of one pass of `maintain`; a part that failed in every round is absent. */
export interface MaintainResult {
  readonly repair: Omit<ReconcileResult, 'next'>;
  readonly expired?: ExpireResult;
  readonly swept?: SweepResult;
}

/** How many account days were charged, and how many outputs returned to temporary storage. */
export interface MeterResult {
  readonly days: number;
  readonly returned: number;
}

/** The activities as the workflows call them. */
export interface Activities {
  submitGeneration(input: MediaTaskInput): Promise<SubmitResult>;
  takeOverRun(input: MediaTaskInput): Promise<TakeOverResult>;
  awaitGeneration(input: AwaitInput): Promise<SubmitResult>;
  recordCancel(input: RecordCancelInput): Promise<void>;
  cancelGeneration(input: CancelInput): Promise<StopResult>;
  archiveOutputs(input: MediaTaskInput): Promise<ArchiveResult>;
  settleTask(input: SettleInput): Promise<SettleResult>;
  sendCallback(input: DeliverCallbackInput): Promise<DeliveryResult>;
  reconcileTasks(input?: ReconcileInput): Promise<ReconcileResult>;
  promoteOutput(input: PromoteOutputInput): Promise<PromotionResult>;
  expireOutputs(): Promise<ExpireResult>;
  sweepObjects(input: SweepInput): Promise<SweepPart>;
  meterStorage(): Promise<MeterResult>;
}

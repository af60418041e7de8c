/**
 * What passes between the launcher, the workflows and the activities: ids, times, small facts and members of closed
 * lists, never a prompt, an input or a provider's address (architecture, "Nothing private or large passes through
 * Temporal"). Every field added here is optional for ever: older histories do not have it.
 */
import type { FailureReason } from '../src/domain/failure-reason.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import type { ArchivedOutput } from '../src/outputs/outputs.ts';

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
  /** Whether an upstream does the work; absent or false: an embedded engine of the worker. */
  readonly isUpstream?: boolean;
}

/** What `submitGeneration` brought: finished files, a job to wait for, or the news that the task is over already. */
export interface SubmitResult {
  readonly kind: 'produced' | 'job' | 'over';
  /** With `produced`: every file is in the object store already, so that archiving has nothing to fetch. */
  readonly isStored?: boolean;
}

/** What `archiveOutputs` brought; `over` when the task ended meanwhile. */
export type ArchiveResult =
  | { readonly kind: 'archived'; readonly outputs: readonly ArchivedOutput[] }
  | { readonly kind: 'over' };

/** How a task is to end. */
export type SettleInput =
  | { readonly taskId: TaskId; readonly status: 'success'; readonly outputs: readonly ArchivedOutput[] }
  | { readonly taskId: TaskId; readonly status: 'fail'; readonly reason: FailureReason };

/** How it did end, whoever decided. */
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

/** What one run of `reconcile` did. */
export interface ReconcileResult {
  readonly checked: number;
  readonly settled: number;
  readonly restarted: number;
}

/** The activities as the workflows call them. */
export interface Activities {
  submitGeneration(input: MediaTaskInput): Promise<SubmitResult>;
  awaitGeneration(input: MediaTaskInput): Promise<SubmitResult>;
  cancelGeneration(input: { readonly taskId: TaskId }): Promise<void>;
  archiveOutputs(input: MediaTaskInput): Promise<ArchiveResult>;
  settleTask(input: SettleInput): Promise<SettleResult>;
  sendCallback(input: DeliverCallbackInput): Promise<DeliveryResult>;
  reconcileTasks(): Promise<ReconcileResult>;
}

/**
 * One task from its launch to its settlement (architecture, "The way of one task"). The workflow id is the task id. It
 * owns the order of things; what each thing does to the record is in the activities.
 */
import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { failureFace } from '../src/domain/failure-reason.ts';
import type { FailureReason } from '../src/domain/failure-reason.ts';
import type { TaskStatus } from '../src/domain/task-status.ts';
import {
  ARCHIVE_LOCALLY,
  CANCEL_OPTIONS,
  SETTLE_LOCALLY,
  SETTLE_OPTIONS,
  archiveOptions,
  awaitOptions,
  submitOptions,
} from './activity-options.ts';
import type { Activities, ArchiveResult, MediaTaskInput, SettleInput, SettleResult } from './contracts.ts';
import { isPermanent, reasonOf } from './failure.ts';

const inside = proxyLocalActivities<Pick<Activities, 'archiveOutputs'>>(ARCHIVE_LOCALLY);
const local = proxyLocalActivities<Pick<Activities, 'settleTask'>>(SETTLE_LOCALLY);
const regular = proxyActivities<Pick<Activities, 'settleTask'>>(SETTLE_OPTIONS);
const courtesy = proxyActivities<Pick<Activities, 'cancelGeneration'>>(CANCEL_OPTIONS);

/**
 * Runs a task to its end.
 *
 * @returns how it ended, when it succeeded.
 * @throws {ApplicationFailure} its type is the reason, when it failed; `CancelledFailure` when it was cancelled. Both
 *   only after settlement.
 */
export async function mediaTask(input: MediaTaskInput): Promise<SettleResult> {
  const { submitGeneration } = proxyActivities<Pick<Activities, 'submitGeneration'>>(submitOptions(input));
  const { awaitGeneration } = proxyActivities<Pick<Activities, 'awaitGeneration'>>(awaitOptions(input));
  const { archiveOutputs } = proxyActivities<Pick<Activities, 'archiveOutputs'>>(archiveOptions(input));

  let settlement: SettleInput;
  let cancellation: unknown;
  try {
    showStatus('handling');
    let submitted = await submitGeneration(input);
    if (submitted.kind === 'job') submitted = await awaitGeneration(input);
    // What was finished before the activity heard of the cancellation is not wanted any more: throws.
    const scope = CancellationScope.current();
    if (scope.consideredCancelled) await scope.cancelRequested;
    settlement = await CancellationScope.nonCancellable(async () => {
      // From archiving on, cancelling changes nothing (contract §4).
      if (submitted.kind === 'over') return failed(input, 'terminated');
      showStatus('archiving');
      const archived = await (submitted.isStored === true
        ? archiveInside(input, archiveOutputs)
        : archiveOutputs(input));
      if (archived.kind === 'over') return failed(input, 'terminated');
      return { taskId: input.taskId, status: 'success' as const, outputs: archived.outputs };
    });
  } catch (error) {
    if (isCancellation(error)) cancellation = error;
    settlement = failed(input, reasonOf(error));
  }

  return CancellationScope.nonCancellable(async () => {
    const outcome = await settle(settlement);
    showStatus(outcome.status, outcome.reason);
    if (mayStillRun(outcome)) await tellProvider(input);
    if (outcome.status === 'success') return outcome;
    if (outcome.reason === 'cancelled' && cancellation !== undefined) throw cancellation;
    const reason = outcome.reason ?? 'provider_error';
    throw ApplicationFailure.nonRetryable(`the task failed: ${reason}`, reason);
  });
}

function failed(input: MediaTaskInput, reason: FailureReason): SettleInput {
  return { taskId: input.taskId, status: 'fail', reason };
}

/** Whether the provider may still be working on a task that has ended, whoever ended it. */
function mayStillRun({ reason }: SettleResult): boolean {
  return reason === 'cancelled' || reason === 'timed_out' || reason === 'terminated';
}

/** Stops what may still run at the provider. After the settlement, which waits for no provider, and deciding nothing. */
async function tellProvider(input: MediaTaskInput): Promise<void> {
  try {
    await courtesy.cancelGeneration({ taskId: input.taskId });
  } catch {
    log.warn('the provider could not be told to stop', { taskId: input.taskId });
  }
}

/** Archives inside this worker, or, where that fails for a passing reason, by the activity that has the time. */
async function archiveInside(
  input: MediaTaskInput,
  archiveOutputs: Activities['archiveOutputs'],
): Promise<ArchiveResult> {
  try {
    return await inside.archiveOutputs(input);
  } catch (error) {
    if (isPermanent(error)) throw error;
    return archiveOutputs(input);
  }
}

/**
 * Settles inside this worker, or, where the database stays away, by an activity that never gives up. Idempotent, so that
 * an attempt whose answer was lost does no harm.
 */
async function settle(settlement: SettleInput): Promise<SettleResult> {
  try {
    return await local.settleTask(settlement);
  } catch {
    return regular.settleTask(settlement);
  }
}

/** What operators see of a task in lists. */
function showStatus(status: TaskStatus, reason: FailureReason | null = null): void {
  upsertSearchAttributes({
    TaskStatus: [status],
    ...(reason === null ? {} : { ErrorCode: [failureFace(reason).code] }),
  });
  setCurrentDetails(reason === null ? status : `${status}: ${reason}`);
}

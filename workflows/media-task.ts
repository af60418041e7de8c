/**
 * One task from its launch to its settlement (architecture, "One task, step by step"). The workflow id is the task id. It
 * determines the order of the steps; what each step does to the record is in the activities.
 */
import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { failureFace } from '../src/domain/failure-reason.ts';
import type { FailureReason } from '../src/domain/failure-reason.ts';
import { TASK_NOT_FOUND } from '../src/domain/run-record.ts';
import { SLOT_SIGNAL } from '../src/domain/workflow-ids.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import {
  ARCHIVE_LOCALLY,
  CANCEL_BEFORE_SETTLEMENT_MAX_ATTEMPTS,
  CANCEL_BEFORE_SETTLEMENT_OPTIONS,
  CANCEL_MAX_ATTEMPTS,
  CANCEL_OPTIONS,
  EARLIER_RUN_OPTIONS,
  RECORD_CANCEL_LOCALLY,
  SETTLE_LOCALLY,
  SETTLE_OPTIONS,
  archiveOptions,
  awaitOptions,
  submitOptions,
} from './activity-options.ts';
import type {
  Activities,
  ArchiveResult,
  AwaitInput,
  MediaTaskInput,
  SettleInput,
  SettleResult,
  SettledTask,
  StopResult,
  SubmitResult,
} from './contracts.ts';
import { isPermanent, isTaskNotFound, reasonOf } from './failure.ts';

type Failed = Extract<SettleInput, { readonly status: 'fail' }>;
type Cost = Pick<StopResult, 'billedUsd' | 'finishedFiles'>;

const { archiveOutputs: archiveOutputsLocally } =
  proxyLocalActivities<Pick<Activities, 'archiveOutputs'>>(ARCHIVE_LOCALLY);
const { settleTask: settleTaskLocally } = proxyLocalActivities<Pick<Activities, 'settleTask'>>(SETTLE_LOCALLY);
const { settleTask } = proxyActivities<Pick<Activities, 'settleTask'>>(SETTLE_OPTIONS);
const { cancelGeneration } = proxyActivities<Pick<Activities, 'cancelGeneration'>>(CANCEL_OPTIONS);
const { cancelGeneration: cancelGenerationBeforeSettlement } = proxyActivities<Pick<Activities, 'cancelGeneration'>>(
  CANCEL_BEFORE_SETTLEMENT_OPTIONS,
);
const { takeOverRun } = proxyActivities<Pick<Activities, 'takeOverRun'>>(EARLIER_RUN_OPTIONS);
const { recordCancel } = proxyLocalActivities<Pick<Activities, 'recordCancel'>>(RECORD_CANCEL_LOCALLY);

const slotGranted = defineSignal(SLOT_SIGNAL);
/** The minimum wait for a slot in milliseconds, so that the loop always pauses. */
const MIN_WAIT_MS = 100;

/**
 * Runs a task to its end.
 *
 * @returns how it ended, if it succeeded.
 * @throws {ApplicationFailure} its type is the reason, if it failed; `CancelledFailure` if it was cancelled. Both only
 *   after settlement. `TaskNotFound`: the database has lost the task, and nothing more was done about it.
 */
export async function mediaTask(input: MediaTaskInput): Promise<SettleResult> {
  const { submitGeneration } = proxyActivities<Pick<Activities, 'submitGeneration'>>(submitOptions(input));
  const { awaitGeneration } = proxyActivities<Pick<Activities, 'awaitGeneration'>>(awaitOptions(input));
  const { archiveOutputs } = proxyActivities<Pick<Activities, 'archiveOutputs'>>(archiveOptions(input));

  let ending: Ending;
  let cancellation: unknown;
  // An interrupted submit may have left one.
  let mayHaveJob = input.isUpstream && !CancellationScope.current().consideredCancelled;
  try {
    setCurrentDetails('handling');
    let submitted = await submitInTurn(input, submitGeneration);
    while (submitted.kind === 'job') {
      mayHaveJob = true;
      const wait = awaitInput(input, submitted);
      submitted = await recordingCancel(input.taskId, () => awaitGeneration(wait));
      if (submitted.kind === 'failed') submitted = await submitInTurn(afterFailedJob(input), submitGeneration);
    }
    // A result that was finished before the activity learned of the cancellation is no longer wanted: throws.
    const scope = CancellationScope.current();
    if (scope.consideredCancelled) await scope.cancelRequested;
    // From archiving on, a cancel has no effect (contract §4).
    ending = await CancellationScope.nonCancellable(() => finish(input, submitted, archiveOutputs));
  } catch (error) {
    if (isTaskNotFound(error)) throw taskNotFound();
    cancellation = await cancellationOf(error);
    ending = { settlement: failed(input, cancellation === undefined ? reasonOf(error) : 'cancelled') };
  }

  return CancellationScope.nonCancellable(async () => {
    if (mayHaveSettledEarlier(input, ending)) {
      ending = (await findEarlierEnding(input, { awaitGeneration, archiveOutputs })) ?? ending;
    }
    let { settlement } = ending;
    let isStopRequested = false;
    const isCancelled = settlement.status === 'fail' && settlement.reason === 'cancelled';
    if (isCancelled && mayHaveJob) {
      const answer = await requestStopBeforeSettlement(input);
      isStopRequested = answer !== undefined;
      settlement = { ...settlement, ...costOf(answer) };
    }
    const outcome = ending.settled ?? (await settle(settlement));
    showEnd(outcome);
    if (mayStillRun(outcome) && !isStopRequested) await requestStop(input);
    if (outcome.status === 'success') return outcome;
    if (outcome.reason === 'cancelled' && cancellation !== undefined) throw cancellation;
    const reason = outcome.reason ?? 'provider_error';
    throw ApplicationFailure.nonRetryable(`the task failed: ${reason}`, reason);
  });
}

/**
 * A task ends within hours: with worker versioning it stays on the release that began it (docs/decisions/0025). A worker
 * without a version must not say so: the server would reject what it has done.
 */
setWorkflowOptions(() => (hasVersion() ? { versioningBehavior: 'PINNED' } : {}), mediaTask);

function hasVersion(): boolean {
  const { deploymentName = '' } = workflowInfo().currentDeploymentVersion ?? {};
  return deploymentName !== '';
}

/**
 * Submits the task. If its upstream is at its concurrency limit, the task joins the upstream's queue
 * (src/upstreams/slots.ts) and the workflow waits for the signal that it has a slot. The wait occupies no slot of a
 * worker and needs no database query, regardless of how many tasks wait and for how long.
 *
 * @throws the failure of the activity; `CancelledFailure` if the workflow is cancelled during the activity or the wait.
 */
async function submitInTurn(
  input: MediaTaskInput,
  submitGeneration: Activities['submitGeneration'],
): Promise<SubmitResult> {
  let hasSlot = false;
  setHandler(slotGranted, () => {
    hasSlot = true;
  });
  for (;;) {
    hasSlot = false;
    const submitted = await submitGeneration(input);
    if (submitted.kind !== 'waiting') return submitted;
    // A signal that arrived before the activity's result counts too. The wait also ends without a signal, because the
    // deadline may have passed or the database may have lost the slot.
    await condition(() => hasSlot, Math.max(submitted.waitMs ?? 0, MIN_WAIT_MS));
  }
}

/**
 * Records a cancel of the workflow as long as it waits for a job: the worker that waits sends few heartbeats, and learns
 * of a cancel from the task's row (docs/decisions/0024), where only the API has recorded its own. Best effort: the next
 * heartbeat reports a cancel too.
 */
async function recordingCancel<T>(taskId: TaskId, wait: () => Promise<T>): Promise<T> {
  const scope = CancellationScope.current();
  let isWaiting = !scope.consideredCancelled;
  const onCancel = async (): Promise<void> => {
    if (!isWaiting) return;
    try {
      await CancellationScope.nonCancellable(() => recordCancel({ taskId }));
    } catch {
      log.warn('cancel not recorded', { taskId });
    }
  };
  scope.cancelRequested.catch(onCancel);
  try {
    return await wait();
  } finally {
    isWaiting = false;
  }
}

function awaitInput(input: MediaTaskInput, { upstreamIndex = 0 }: SubmitResult): AwaitInput {
  return input.failsOver === true ? { ...input, failsOverFrom: upstreamIndex } : input;
}

/** Without the earlier run, whose work has been taken over by now: it may be the job that failed. */
function afterFailedJob(input: MediaTaskInput): MediaTaskInput {
  const { earlierRunId: _taken, ...again } = input;
  return again;
}

/** How a task has to end, or has ended. */
interface Ending {
  readonly settlement: SettleInput;
  /** How the archiving has settled it; absent: it is not settled. */
  readonly settled?: SettleResult;
}

/** Archives the generated files. */
async function finish(
  input: MediaTaskInput,
  submitted: SubmitResult,
  archiveOutputs: Activities['archiveOutputs'],
): Promise<Ending> {
  if (submitted.kind === 'over') return { settlement: failed(input, 'terminated') };
  if (submitted.kind === 'ended') return { settlement: settlementOfEarlierRun(input, submitted) };
  setCurrentDetails('archiving');
  const archived = await (submitted.isStored === true ? archiveLocally(input, archiveOutputs) : archiveOutputs(input));
  if (archived.kind === 'over') return { settlement: failed(input, 'terminated') };
  const { outputs, settled } = archived;
  const settlement: SettleInput = { ...settledTask(input), status: 'success', outputs };
  return settled === undefined ? { settlement } : { settlement, settled };
}

/** Whether a task that is about to end as cancelled may have been ended by an earlier run. */
function mayHaveSettledEarlier({ earlierRunId }: MediaTaskInput, { settlement }: Ending): boolean {
  return earlierRunId !== undefined && settlement.status === 'fail' && settlement.reason === 'cancelled';
}

/**
 * How an earlier run had ended the task, whose commit the database has lost: its receiver may have been notified of
 * it, so that a cancel that was accepted since then has come too late, also one that came before this run had done
 * anything.
 *
 * @returns undefined: it had not ended it, or does not record how.
 */
async function findEarlierEnding(
  input: MediaTaskInput,
  { awaitGeneration, archiveOutputs }: Pick<Activities, 'awaitGeneration' | 'archiveOutputs'>,
): Promise<Ending | undefined> {
  let decided: SubmitResult | undefined;
  try {
    ({ decided } = await takeOverRun(input));
    if (decided === undefined) return undefined;
    return await finish(input, decided.kind === 'job' ? await awaitGeneration(input) : decided, archiveOutputs);
  } catch (error) {
    if (isTaskNotFound(error)) throw taskNotFound();
    return decided === undefined ? undefined : { settlement: failed(input, reasonOf(error)) };
  }
}

/**
 * The cancellation that caused a failure. Temporal does not retry a transient failure once the cancellation was
 * requested: otherwise a stopping worker, or an unavailable database, would decide the task's outcome.
 *
 * @returns undefined: the task was not cancelled, or failed permanently before it could be.
 */
async function cancellationOf(error: unknown): Promise<unknown> {
  if (isCancellation(error)) return error;
  const scope = CancellationScope.current();
  if (!scope.consideredCancelled || isPermanent(error)) return undefined;
  return scope.cancelRequested.catch((cancelled: unknown) => cancelled);
}

function settledTask({ taskId, accountId, requestHash }: MediaTaskInput): SettledTask {
  return { taskId, accountId, ...(requestHash === undefined ? {} : { requestHash }) };
}

function failed(input: MediaTaskInput, reason: FailureReason): Failed {
  return { ...settledTask(input), status: 'fail', reason };
}

/** What a cancelled task's cost depends on: what its provider bills, and what it had finished. */
function costOf({ billedUsd, finishedFiles }: Cost = {}): Cost {
  return {
    ...(billedUsd === undefined ? {} : { billedUsd }),
    ...(finishedFiles === undefined ? {} : { finishedFiles }),
  };
}

/** The end that an earlier run had recorded, whose commit the database has lost. */
function settlementOfEarlierRun(input: MediaTaskInput, submitted: SubmitResult): Failed {
  return { ...failed(input, submitted.reason ?? 'provider_error'), ...costOf(submitted) };
}

/** The end of a run without its task: if the task is created again, it gets another run. */
function taskNotFound(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('the task of this workflow is not in the database', TASK_NOT_FOUND);
}

/** Whether the provider may still be working on a task that has ended, whatever ended it. */
function mayStillRun({ reason }: SettleResult): boolean {
  return reason === 'cancelled' || reason === 'timed_out' || reason === 'terminated';
}

/**
 * Asks the provider to stop before a cancelled task is settled, because it may still bill something for it (contract
 * §4).
 *
 * @returns undefined if it did not answer in time.
 */
async function requestStopBeforeSettlement(input: MediaTaskInput): Promise<StopResult | undefined> {
  try {
    return await cancelGenerationBeforeSettlement({
      taskId: input.taskId,
      tries: CANCEL_BEFORE_SETTLEMENT_MAX_ATTEMPTS,
    });
  } catch {
    return undefined;
  }
}

/**
 * Asks the provider to stop what may still run there. After the settlement, which waits for no provider and does not
 * depend on this.
 */
async function requestStop(input: MediaTaskInput): Promise<void> {
  try {
    await cancelGeneration({ taskId: input.taskId, tries: CANCEL_MAX_ATTEMPTS });
  } catch {
    log.warn('stop request to the provider failed', { taskId: input.taskId });
  }
}

/** Archives inside this worker, or, if that fails for a transient reason, with the activity that has more time. */
async function archiveLocally(
  input: MediaTaskInput,
  archiveOutputs: Activities['archiveOutputs'],
): Promise<ArchiveResult> {
  try {
    return await archiveOutputsLocally(input);
  } catch (error) {
    if (isPermanent(error) || isTaskNotFound(error)) throw error;
    return archiveOutputs(input);
  }
}

/**
 * Settles inside this worker, or, if the database stays unavailable, with an activity that never gives up. Idempotent,
 * so that an attempt whose answer was lost does no harm.
 */
async function settle(settlement: SettleInput): Promise<SettleResult> {
  try {
    return await settleTaskLocally(settlement);
  } catch (error) {
    if (isTaskNotFound(error)) throw taskNotFound();
  }
  try {
    return await settleTask(settlement);
  } catch (error) {
    throw isTaskNotFound(error) ? taskNotFound() : error;
  }
}

/**
 * What operators see of a task that has ended. Its workflow was started as `handling`, and lists show no other status
 * until the end, because each is a billed action and a write to the visibility store.
 */
function showEnd({ status, reason }: SettleResult): void {
  upsertSearchAttributes({
    TaskStatus: [status],
    ...(reason === null ? {} : { ErrorCode: [failureFace(reason).code] }),
  });
  setCurrentDetails(reason === null ? status : `${status}: ${reason}`);
}

/**
 * Submits a task to a provider, once (architecture, "Submitting is split from waiting, and never repeated blindly"): a
 * submit that cannot be repeated is announced by an intent first, and a retry that finds an intent without a job ends
 * as `outcome_unknown` instead of paying twice. Which of a route's upstreams is used, and when, is decided in
 * submit-with-fallback.ts.
 */
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { Lease } from '../limits/tenant-shares.ts';
import { beginHandling, readWorkingTask, recordFault } from '../tasks/lifecycle/transitions.ts';
import type { BegunTask, WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Generation } from '../tasks/lifecycle/generations.ts';
import { createProgressRecord } from '../tasks/record/progress.ts';
import type { MediaTaskInput, SubmitResult } from '../../workflows/contracts.ts';
import { isStatedUnsent } from './announced-submit.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';
import { intentOfEarlierAttempt, isForAnotherRequest, submitResultOf, takeOver } from './earlier-work.ts';
import type { EarlierWork } from './earlier-work.ts';
import { findFailed } from './fail-over.ts';
import { GenerationFailure, permanentFailure } from './failure.ts';
import { waitForLiveSubmit } from './live-submit.ts';
import { withScratch } from './scratch.ts';
import { DeadlinePassedError, runUntilStopped } from './stopping.ts';
import { acquireProviderSlot } from './submit-to-upstream.ts';
import { submitWithFallback } from './submit-with-fallback.ts';
import { routesOf } from './task-route.ts';
import type { TaskRoute } from './task-route.ts';
import type { StopSignals } from './stopping.ts';

type SubmitInput = Pick<MediaTaskInput, 'taskId' | 'handlingSeconds' | 'isUpstream' | 'requestHash' | 'earlierRunId'>;

/** Runs one attempt of the submit. */
export async function submitGeneration(
  context: GenerationContext,
  attempt: Attempt,
  input: SubmitInput,
): Promise<SubmitResult> {
  const slot = await acquireSlotBeforeHandling(context, attempt, input);
  try {
    return await submit({ context, attempt, input }, slot !== undefined);
  } finally {
    slot?.release();
  }
}

/** The data that all steps of a submit need. */
interface Submitting {
  readonly context: GenerationContext;
  readonly attempt: Attempt;
  readonly input: SubmitInput;
}

async function submit(submitting: Submitting, hasSlot: boolean): Promise<SubmitResult> {
  const { context, attempt, input } = submitting;
  const begun = await beginHandling(context.database, input.taskId, input.handlingSeconds, context.urlSigner.keyId);
  const { task } = begun;
  if (isTerminal(task.status)) return { kind: 'over' };
  const earlier = await findEarlierWork(submitting, begun);
  const known = resultOf(task, earlier);
  if (known !== undefined) return known;
  if (task.isCancelRequested) throw permanentFailure('cancelled');
  if (task.deadlineAt !== null && task.deadlineAt <= performance.now()) throw new DeadlinePassedError();

  const routes = await routesOf(context, task);
  const failedIndices = await findFailed(context, task, routes);
  const work = async (stopSignal: AbortSignal, stopSignals: StopSignals): Promise<SubmitResult> => {
    const found = await awaitEarlier(submitting, task, { earlier, routes, signal: stopSignal });
    const brought = resultOf(task, found);
    if (brought !== undefined) return brought;
    return withScratch(context.config.worker.scratchDir, (scratch) =>
      submitWithFallback({
        ...attempt,
        context,
        task,
        routes,
        failedIndices,
        triedIndex: found.kind === 'in_progress' ? found.generation.upstreamIndex : undefined,
        stopSignal,
        stopSignals,
        hasSlot,
        scratch,
        onProgress: createProgressRecord(context, task.id),
      }),
    );
  };
  const { stopping, ending } = context;
  return runUntilStopped(attempt, { deadlineAt: task.deadlineAt, stopping, ending }, work).catch(
    async (error: unknown) => {
      const fault = error instanceof GenerationFailure ? error.fault : undefined;
      // Before the failure, which ends the task: the settlement that follows reports it to the owner.
      if (fault !== undefined) await recordFault(context.database, task.id, fault);
      throw error;
    },
  );
}

/** What was done before this attempt, even if the database does not know of it because it has lost commits. */
async function findEarlierWork(
  { context, attempt, input }: Submitting,
  { task, generation }: BegunTask,
): Promise<EarlierWork> {
  // An earlier attempt may have sent the other request.
  if (isForAnotherRequest(context, task, input.requestHash)) throw permanentFailure('outcome_unknown');
  if (input.earlierRunId !== undefined) {
    const found = await takeOver(context, task, input.earlierRunId);
    if (found.kind !== 'none') return found;
  }
  const known =
    generation === undefined ? await intentOfEarlierAttempt(context, attempt, task) : unlessUnsent(attempt, generation);
  return known === undefined ? { kind: 'none' } : { kind: 'in_progress', generation: known, isDecided: false };
}

/**
 * Waits for a submit of an earlier attempt that may still be in progress, unless the work may simply be submitted there
 * again.
 */
async function awaitEarlier(
  submitting: Submitting,
  task: WorkingTask,
  { earlier, routes, signal }: { earlier: EarlierWork; routes: readonly TaskRoute[]; signal: AbortSignal },
): Promise<EarlierWork> {
  let work = earlier;
  while (work.kind === 'in_progress' && work.generation.state === 'intent') {
    const { upstreamIndex } = work.generation;
    if (routes.find((route) => route.upstreamIndex === upstreamIndex)?.provider.isSubmitRepeatable === true)
      return work;
    const found = await waitForLiveSubmit(submitting.context, task, signal);
    if (found !== undefined) return { ...work, generation: found };
    // It was rejected, or not sent; or the database has lost it.
    work = await findEarlierWork(submitting, { task, generation: undefined });
  }
  return work;
}

/** The result that exists without a submit; undefined: there is something to submit, or to wait for. */
function resultOf(task: WorkingTask, work: EarlierWork): SubmitResult | undefined {
  if (work.kind === 'ended') return work.result;
  const isBrought = work.kind === 'in_progress' && work.generation.state !== 'intent';
  return isBrought ? submitResultOf(task, work.generation) : undefined;
}

/** An intent that the previous attempt did not send is taken over (submit-to-upstream.ts), and does not prevent a submit. */
function unlessUnsent(attempt: Attempt, generation: Generation): Generation | undefined {
  return generation.state === 'intent' && isStatedUnsent(attempt) ? undefined : generation;
}

/**
 * The slot of a task that an engine is to render: acquired while the task is still queued, because its time runs from
 * `handling` on, and many tasks may be waiting for a slot.
 *
 * @returns undefined: no slot is needed, or the task is past that stage.
 */
async function acquireSlotBeforeHandling(
  context: GenerationContext,
  attempt: Attempt,
  input: SubmitInput,
): Promise<Lease | undefined> {
  if (input.isUpstream || input.earlierRunId !== undefined) return undefined;
  const task = await readWorkingTask(context.database, input.taskId);
  if (task.status !== 'queued' || task.isCancelRequested) return undefined;
  const [route] = await routesOf(context, task);
  const causes = { deadlineAt: null, stopping: context.stopping };
  return route && runUntilStopped(attempt, causes, (signal) => acquireProviderSlot(route, task.accountId, signal));
}

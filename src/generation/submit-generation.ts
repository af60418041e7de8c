/**
 * Submits a task to a provider, once (architecture, "Submitting is split from waiting, and never repeated blindly"): a
 * submit that cannot be repeated is announced by an intent first, and a retry that finds an intent without a job ends
 * as `outcome_unknown` instead of paying twice. Which of a route's upstreams is used, and when, is decided in
 * ask-upstreams.ts.
 */
import { isTerminal } from '../domain/task-status.ts';
import { createProgressRecord } from '../tasks/record/progress.ts';
import type { Lease } from '../limits/tenant-shares.ts';
import { beginHandling, readWorkingTask, recordFault } from '../tasks/lifecycle/transitions.ts';
import type { Generation, WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Activities, MediaTaskInput, SubmitInput, SubmitResult } from '../../workflows/contracts.ts';
import { askUpstreams } from './submit-with-fallback.ts';
import type { ActivityContext } from '../../activities/context.ts';
import { intentOfEarlierAttempt, isForAnotherRequest, submitResultOf, takeOver } from './earlier-work.ts';
import type { EarlierWork } from './earlier-work.ts';
import { GenerationFailure, permanentFailure } from './failure.ts';
import { isStatedUnsent, untilStopped } from '../../activities/heartbeat.ts';
import { DeadlinePassedError } from './stopped.ts';
import type { StopSignals } from '../../activities/heartbeat.ts';
import { awaitLiveSubmit } from './live-submit.ts';
import { withScratch } from './scratch.ts';
import { enterProvider } from './submit-to-upstream.ts';
import { routesOf } from './task-route.ts';
import type { TaskRoute } from './task-route.ts';

export function createSubmitGeneration(context: ActivityContext): Activities['submitGeneration'] {
  return async (input: SubmitInput) => {
    const place = await placeBeforeHandling(context, input);
    try {
      return await submit(input, place !== undefined);
    } finally {
      place?.release();
    }
  };

  async function submit(input: SubmitInput, hasPlace: boolean): Promise<SubmitResult> {
    const { taskId, handlingSeconds } = input;
    const begun = await beginHandling(context.database, taskId, handlingSeconds, context.urlSigner.keyId);
    const { task } = begun;
    if (isTerminal(task.status)) return { kind: 'over' };
    const earlier = await findEarlierWork(input, begun);
    const known = resultOf(task, earlier);
    if (known !== undefined) return known;
    if (task.isCancelRequested) throw permanentFailure('cancelled');
    if (task.deadlineAt !== null && task.deadlineAt <= performance.now()) throw new DeadlinePassedError();

    const routes = await routesOf(context, task);
    const work = async (stopSignal: AbortSignal, stopSignals: StopSignals): Promise<SubmitResult> => {
      const found = await awaitEarlier(input, task, { earlier, routes, signal: stopSignal });
      const brought = resultOf(task, found);
      if (brought !== undefined) return brought;
      return withScratch(context.config.worker.scratchDir, (scratch) =>
        askUpstreams({
          context,
          task,
          routes,
          triedPlace: found.kind === 'going on' ? found.generation.place : undefined,
          stopSignal,
          stopSignals,
          hasPlace,
          mayWait: input.mayWait === true,
          scratch,
          onProgress: createProgressRecord(context, task.id),
        }),
      );
    };
    return untilStopped(task.deadlineAt, context.stopping, work, context.ending).catch(async (error: unknown) => {
      const fault = error instanceof GenerationFailure ? error.fault : undefined;
      // Before the failure, which ends the task: the settlement that follows reports it to the owner.
      if (fault !== undefined) await recordFault(context.database, task.id, fault);
      throw error;
    });
  }

  /** What was done before this attempt, even if the database does not know of it because it has lost commits. */
  async function findEarlierWork(input: MediaTaskInput, { task, generation }: BegunTask): Promise<EarlierWork> {
    // An earlier attempt may have sent the other request.
    if (isForAnotherRequest(context, task, input.requestHash)) throw permanentFailure('outcome_unknown');
    if (input.earlierRunId !== undefined) {
      const found = await takeOver(context, task, input.earlierRunId);
      if (found.kind !== 'none') return found;
    }
    const known = generation === undefined ? await intentOfEarlierAttempt(context, task) : unlessUnsent(generation);
    return known === undefined ? { kind: 'none' } : { kind: 'going on', generation: known, isDecided: false };
  }

  /**
   * Waits for a submit that an earlier attempt may have under way, unless the work may simply be submitted there
   * again.
   */
  async function awaitEarlier(
    input: MediaTaskInput,
    task: WorkingTask,
    { earlier, routes, signal }: { earlier: EarlierWork; routes: readonly TaskRoute[]; signal: AbortSignal },
  ): Promise<EarlierWork> {
    let work = earlier;
    while (work.kind === 'going on' && work.generation.state === 'intent') {
      const { place } = work.generation;
      if (routes.find((route) => route.place === place)?.provider.isSubmitRepeatable === true) return work;
      const found = await awaitLiveSubmit(context, task, signal);
      if (found !== undefined) return { ...work, generation: found };
      // It was rejected, or not sent; or the database has lost it.
      work = await findEarlierWork(input, { task, generation: undefined });
    }
    return work;
  }
}

/** The result that exists without a submit; undefined: there is something to submit, or to wait for. */
function resultOf(task: WorkingTask, work: EarlierWork): SubmitResult | undefined {
  if (work.kind === 'ended') return work.result;
  const isBrought = work.kind === 'going on' && work.generation.state !== 'intent';
  return isBrought ? submitResultOf(task, work.generation) : undefined;
}

/** An intent that the previous attempt did not send is taken over (submit-to.ts), and does not prevent a submit. */
function unlessUnsent(generation: Generation): Generation | undefined {
  return generation.state === 'intent' && isStatedUnsent() ? undefined : generation;
}

type BegunTask = Awaited<ReturnType<typeof beginHandling>>;

/**
 * The slot of a task that an engine is to render: acquired while the task is still queued, because its time runs from
 * `handling` on, and many tasks may be waiting for a slot.
 *
 * @returns undefined: no slot is needed, or the task is past that stage.
 */
async function placeBeforeHandling(context: ActivityContext, input: MediaTaskInput): Promise<Lease | undefined> {
  if (input.isUpstream === true || input.earlierRunId !== undefined) return undefined;
  const task = await readWorkingTask(context.database, input.taskId);
  if (task.status !== 'queued' || task.isCancelRequested) return undefined;
  const [route] = await routesOf(context, task);
  return route && untilStopped(null, context.stopping, (signal) => enterProvider(route, task.accountId, signal));
}

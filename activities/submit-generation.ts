/**
 * Hands a task to a provider, once (architecture, "Submitting is split from waiting, and never repeated blindly"): a
 * submit that cannot be repeated is announced by an intent first, and a retry that finds one without a job ends as
 * `outcome_unknown` instead of charging twice. Which of a route's upstreams is asked, and when, is in ask-upstreams.ts.
 */
import { isTerminal } from '../src/domain/task-status.ts';
import { createProgressRecord } from '../src/tasks/progress.ts';
import type { Lease } from '../src/limits/tenant-shares.ts';
import { beginHandling, readWorkingTask, recordFault } from '../src/tasks/work.ts';
import type { Generation } from '../src/tasks/work.ts';
import type { Activities, MediaTaskInput, SubmitInput, SubmitResult } from '../workflows/contracts.ts';
import { askUpstreams } from './ask-upstreams.ts';
import type { ActivityContext } from './context.ts';
import { intentOfEarlierAttempt, isForAnotherRequest, submitResultOf, takeOver } from './earlier-work.ts';
import type { EarlierWork } from './earlier-work.ts';
import { faultOf, permanent } from './failures.ts';
import { DeadlinePassedError, isStatedUnsent, untilStopped } from './heartbeat.ts';
import { withScratch } from './scratch.ts';
import { enterProvider } from './submit-to.ts';
import { routesOf } from './task-route.ts';

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
    if (earlier.kind === 'ended') return earlier.result;
    const generation = earlier.kind === 'none' ? unlessUnsent(begun.generation) : earlier.generation;
    if (generation !== undefined && generation.state !== 'intent') return submitResultOf(task, generation);
    if (task.isCancelRequested) throw permanent('cancelled');
    if (task.deadlineAt !== null && task.deadlineAt <= performance.now()) throw new DeadlinePassedError();

    const routes = await routesOf(context, task);
    return untilStopped(task.deadlineAt, context.stopping, (stopSignal, stopSignals) =>
      withScratch(context.config.worker.scratchDir, (scratch) =>
        askUpstreams({
          context,
          task,
          routes,
          triedPlace: generation?.place,
          stopSignal,
          stopSignals,
          hasPlace,
          mayWait: input.mayWait === true,
          scratch,
          onProgress: createProgressRecord(context, task.id),
        }),
      ),
    ).catch(async (error: unknown) => {
      const fault = faultOf(error);
      // Before the failure, which ends the task: the settlement that follows tells its owner.
      if (fault !== undefined) await recordFault(context.database, task.id, fault);
      throw error;
    });
  }

  /** What the database does not know of, because it has lost commits. */
  async function findEarlierWork(input: MediaTaskInput, { task, generation }: BegunTask): Promise<EarlierWork> {
    // An attempt before this one may have sent the other request.
    if (isForAnotherRequest(context, task, input.requestHash)) throw permanent('outcome_unknown');
    if (input.earlierRunId !== undefined) {
      const found = await takeOver(context, task, input.earlierRunId);
      if (found.kind !== 'none') return found;
    }
    const lost = generation === undefined ? await intentOfEarlierAttempt(context, task) : undefined;
    return lost === undefined ? { kind: 'none' } : { kind: 'going on', generation: lost, isDecided: false };
  }
}

/** An intent that the attempt before has not sent is taken on (submit-to.ts), and does not prevent a submit. */
function unlessUnsent(generation: Generation | undefined): Generation | undefined {
  return generation?.state === 'intent' && isStatedUnsent() ? undefined : generation;
}

type BegunTask = Awaited<ReturnType<typeof beginHandling>>;

/**
 * The place of a task that an engine is to render: taken while it is still queued, because from `handling` on its time
 * runs, and those that wait for a place may be many.
 *
 * @returns undefined: none is needed, or the task is past that.
 */
async function placeBeforeHandling(context: ActivityContext, input: MediaTaskInput): Promise<Lease | undefined> {
  if (input.isUpstream === true || input.earlierRunId !== undefined) return undefined;
  const task = await readWorkingTask(context.database, input.taskId);
  if (task.status !== 'queued' || task.isCancelRequested) return undefined;
  const [route] = await routesOf(context, task);
  return route && untilStopped(null, context.stopping, (signal) => enterProvider(route, task.accountId, signal));
}

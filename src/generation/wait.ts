/**
 * Waits for a provider's job by polling it until it is finished or the task's deadline passes. If a worker dies,
 * another one polls the same job. A webhook of the provider only brings the next poll forward.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { ProviderFailure, ProviderUnreachable } from '../providers/provider.ts';
import type { JobState } from '../providers/provider.ts';
import { beginHandling, readWorkingTask } from '../tasks/lifecycle/transitions.ts';
import { readGeneration, recordFiles } from '../tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { GeneratedFile, Generation } from '../tasks/lifecycle/generations.ts';
import { createProgressRecord } from '../tasks/record/progress.ts';
import { recordWait } from '../tasks/record/waiting-tasks.ts';
import type { AwaitInput, SubmitResult } from '../../workflows/contracts.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';
import { generationOfThisRun, submitResultOf } from './earlier-work.ts';
import { failOverJob, isFailedOver } from './fail-over.ts';
import { GenerationFailure, permanentFailure, unbilledFailure, logFailure } from './failure.ts';
import { createPollPace } from './poll-pace.ts';
import { releaseUpstreamSlot } from './release-upstream-slot.ts';
import { stageFiles } from './stage-files.ts';
import { consumptionOfJob, recordConsumption, warnOfExcess, workCostAt } from './work-cost.ts';
import { routeAt } from './task-route.ts';
import type { TaskRoute } from './task-route.ts';
import { runUntilStopped } from './stopping.ts';

/** Runs one attempt of the wait. */
export async function awaitGeneration(
  context: GenerationContext,
  attempt: Attempt,
  input: Pick<AwaitInput, 'taskId' | 'handlingSeconds' | 'failsOverFrom'>,
): Promise<SubmitResult> {
  let task = await readWorkingTask(context.database, input.taskId);
  // A database that has lost commits does not know that the task was started.
  if (task.status === 'queued') ({ task } = await beginHandling(context.database, task.id, input.handlingSeconds));
  if (isTerminal(task.status)) return { kind: 'over' };
  const recorded = await readGeneration(context.database, task.id);
  const { failsOverFrom } = input;
  // An earlier attempt has recorded that, and its worker has died.
  const isOver = recorded === undefined && failsOverFrom !== undefined;
  if (isOver && (await isFailedOver(context, task, failsOverFrom))) return { kind: 'failed' };
  const isKnown = recorded !== undefined && recorded.state !== 'intent';
  const generation = isKnown ? recorded : await generationOfThisRun(context, attempt, task);
  if (generation.state === 'submitted' && context.identity !== undefined) {
    await recordWait(context.database, task.id, context.identity);
  }
  try {
    return await finishGeneration(context, attempt, task, generation);
  } catch (error) {
    const mayFailOver = failsOverFrom !== undefined && error instanceof GenerationFailure;
    if (mayFailOver && (await failOverJob(context, task, generation, error))) return { kind: 'failed' };
    throw error;
  }
}

/** Waits until a generation is produced and its files are recorded. */
export async function finishGeneration(
  context: GenerationContext,
  attempt: Attempt,
  task: WorkingTask,
  generation: Generation,
): Promise<SubmitResult> {
  const route = await routeAt(context, task, generation.upstreamIndex);
  try {
    let produced = generation;
    if (generation.state === 'submitted') {
      const { jobId } = generation;
      const { deadlineAt } = task;
      const { stopping } = context;
      const files = await runUntilStopped(attempt, { deadlineAt, stopping }, (signal) =>
        waitForJob({ context, attempt, task, route, signal }, jobId),
      );
      produced = { state: 'produced', jobId, upstreamIndex: generation.upstreamIndex, files };
    }
    await releaseUpstreamSlot(context, task.id, route);
    return submitResultOf(task, produced);
  } catch (error) {
    if (error instanceof GenerationFailure && error.isPermanent) await releaseUpstreamSlot(context, task.id, route);
    throw error;
  }
}

/** What waiting for a job needs. */
interface Waiting {
  readonly context: GenerationContext;
  readonly attempt: Attempt;
  readonly task: WorkingTask;
  readonly route: TaskRoute;
  readonly signal: AbortSignal;
}

/** Polls until the job is done and its files are recorded. */
async function waitForJob(
  { context, attempt, task, route, signal }: Waiting,
  jobId: string,
): Promise<readonly GeneratedFile[]> {
  const onProgress = createProgressRecord(context, task.id);
  const pace = createPollPace();
  const wait = createWait(context, task, route, signal);
  for (;;) {
    const answer = await pollJob(context, route, jobId, signal);
    if (answer.kind === 'done') {
      if (answer.files.length === 0) throw permanentFailure('no_output');
      const files = await stageFiles(context, attempt, task.id, answer.files, signal);
      const cost = workCostAt(route, files.length, await consumptionOfJob(context, route, answer));
      warnOfExcess(context, task, route, cost);
      await recordFiles(context.database, task, route, files, cost);
      return files;
    }
    if (answer.kind === 'running') {
      pace.readable();
      if (answer.progress !== undefined) onProgress(answer.progress);
    } else {
      context.logger.info(
        { taskId: task.id, upstream: route.upstreamName, status: answer.status, code: answer.code },
        'provider reported nothing about the job',
      );
      if (answer.isUnreadable && pace.unreadable()) {
        context.logger.error(
          { taskId: task.id, upstream: route.upstreamName, status: answer.status, code: answer.code },
          'job given up, because its provider gave no readable response for too long',
        );
        // If the job went on, it would have to be paid for, although its result cannot be read.
        await route.provider.cancel(route.request, jobId, { signal }).catch(() => undefined);
        throw permanentFailure('provider_error');
      }
    }
    await wait(pace.next(answer.pollAfterMs, context.upstreams.hookFeed.isHeard(route.upstreamName)));
  }
}

/** The provider sent no usable response. The job continues, so it is polled again until the deadline. */
interface NoAnswer {
  readonly kind: 'silent';
  readonly status: number | undefined;
  readonly code: string | undefined;
  /** Whether there was a response that cannot be understood, or none can be requested. */
  readonly isUnreadable: boolean;
  readonly pollAfterMs: number | undefined;
}

async function pollJob(
  context: GenerationContext,
  route: TaskRoute,
  jobId: string,
  signal: AbortSignal,
): Promise<(JobState & { readonly pollAfterMs?: number }) | NoAnswer> {
  try {
    return await route.provider.poll(route.request, jobId, { signal });
  } catch (error) {
    if (error instanceof ProviderFailure) {
      logFailure(context, route, error);
      await recordConsumption(context, route, error.consumption);
      throw error.isUnbilled ? unbilledFailure(error.reason, jobId) : permanentFailure(error.reason);
    }
    if (!(error instanceof ProviderUnreachable)) throw error;
    const { status, code, retryAfterMs } = error;
    const isBusy = status === 429 || (status === 503 && retryAfterMs !== undefined);
    if (isBusy && route.gated !== undefined && retryAfterMs !== undefined) {
      await context.upstreams.gate.report(route.gated, { pauseMs: retryAfterMs });
    }
    return { kind: 'silent', status, code, isUnreadable: isUnreadable(error), pollAfterMs: retryAfterMs };
  }
}

/** A redirect is not followed, and the file of a task that has begun does not change. */
function isUnreadable({ status, code }: ProviderUnreachable): boolean {
  return code === 'NO_PATH' || (status !== undefined && status >= 200 && status < 400);
}

/**
 * Waits as long as requested, and until the upstream's pause ends; a webhook shortens only the first of
 * these.
 */
function createWait(
  { upstreams }: GenerationContext,
  task: WorkingTask,
  { provider, request, upstreamName, gated }: TaskRoute,
  signal: AbortSignal,
): (waitMs: number) => Promise<void> {
  const upstream = { name: upstreamName, baseUrl: request.upstream.baseUrl };
  const mayCallBack = provider.callsBack === true && upstreams.hookUrls.urlFor(upstream, task.id) !== undefined;
  let seen = 0;
  return async (waitMs) => {
    if (mayCallBack) seen = await upstreams.hookFeed.wait(task.id, seen, waitMs, signal);
    else await sleep(waitMs, undefined, { signal });
    const pausedMs = gated === undefined ? 0 : await upstreams.gate.pausedMs(gated);
    if (pausedMs > 0) await sleep(pausedMs, undefined, { signal });
  };
}

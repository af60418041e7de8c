/**
 * Asks the provider to stop a task's job, and returns what the task may still cost: the amount that the provider
 * bills, if it reports one, and how many files it had finished, if the model's price depends on that.
 */
import { formatUsd } from '../domain/money.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { ProviderFailure } from '../providers/provider.ts';
import type { CancelOutcome } from '../providers/provider.ts';
import { readWorkingTask } from '../tasks/lifecycle/transitions.ts';
import { readGeneration } from '../tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Generation } from '../tasks/lifecycle/generations.ts';
import type { StopResult } from '../../workflows/contracts.ts';
import type { GenerationContext } from './context.ts';
import { releaseUpstreamSlot } from './release-upstream-slot.ts';
import { routeAt, routesOf } from './task-route.ts';
import type { TaskRoute } from './task-route.ts';
import { recordConsumption } from './work-cost.ts';

/**
 * Within an attempt, which has 10 s (workflows/activity-options.ts), after the stop request.
 */
const POLL_WITHIN_MS = 3_000;
/**
 * Asks the provider of a task's job, if there is one, to stop. Idempotent.
 *
 * @param attempt from 1. @param runId of the workflow, which knows of a job that the database has lost (docs/decisions/0005).
 * @throws {GenerationFailure} retryable: too many requests of its account, or at its upstream, are in progress.
 */
export async function stopJob(
  context: GenerationContext,
  taskId: TaskId,
  signal: AbortSignal,
  { attempt = 1, runId }: { readonly attempt?: number; readonly runId?: string | undefined } = {},
): Promise<StopResult> {
  const task = await readWorkingTask(context.database, taskId);
  const recorded = await readGeneration(context.database, taskId);
  // First, so that a history that is slow or cannot be read holds no slot.
  if (jobIdOf(recorded) === null) await releaseAllSlots(context, task);
  const generation = recorded ?? (await lostJob(context, taskId, runId));
  const jobId = jobIdOf(generation);
  if (generation === undefined || jobId === null) return {};
  const route = await routeAt(context, task, generation.upstreamIndex);
  const { upstreamName } = route;
  const answer = await context.stopSlots.run({ accountId: task.accountId, upstreamName }, attempt, async () => {
    const { outcome, billedMicroUsd } = await route.provider.cancel(route.request, jobId, { signal });
    context.logger.info({ taskId, upstream: upstreamName, outcome }, 'stop requested from the provider');
    // The settlement knows the files of a job if they are recorded.
    const isKnown = generation.state === 'produced';
    const finishedFiles = isKnown ? undefined : await countFinished(context, route, jobId, outcome, signal);
    return {
      outcome,
      ...(billedMicroUsd === undefined ? {} : { billedUsd: formatUsd(billedMicroUsd) }),
      ...(finishedFiles === undefined ? {} : { finishedFiles }),
    };
  });
  await releaseUpstreamSlot(context, taskId, route);
  return answer;
}

/** Also for work that is already finished: it may be billed, and only the provider can report that. */
function jobIdOf(generation: Generation | undefined): string | null {
  return generation === undefined || generation.state === 'intent' ? null : generation.jobId;
}

/** Releases the slots that the task holds, or waits for, at every upstream of its route. */
async function releaseAllSlots(context: GenerationContext, task: WorkingTask): Promise<void> {
  for (const route of await routesOf(context, task)) await releaseUpstreamSlot(context, task.id, route);
}

/** The job of a run if the database has no generation: it may have lost the one of a cancelled task. */
async function lostJob(
  context: GenerationContext,
  taskId: TaskId,
  runId: string | undefined,
): Promise<Generation | undefined> {
  const record = runId === undefined ? undefined : await context.readRun(taskId, runId);
  return record?.job === undefined ? undefined : { state: 'submitted', ...record.job };
}

/**
 * Polls a job that did not stop, if the model defines what a late cancel costs.
 *
 * @returns how many files it had finished; 0: it had finished, but does not report how many; undefined: it had not
 *   finished, or the number is not needed.
 */
async function countFinished(
  context: GenerationContext,
  route: TaskRoute,
  jobId: string,
  outcome: CancelOutcome,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { definition, provider, request } = route;
  const { lateCancel = 'billed' } = definition.pricing;
  if (lateCancel === 'billed' || outcome === 'cancelled') return undefined;
  try {
    const pollSignal = AbortSignal.any([signal, AbortSignal.timeout(POLL_WITHIN_MS)]);
    const state = await provider.poll(request, jobId, { signal: pollSignal });
    if (state.kind !== 'done') return undefined;
    await recordConsumption(context, route, state);
    return state.files.length;
  } catch (error) {
    // It ended without a result.
    if (error instanceof ProviderFailure) return undefined;
    return outcome === 'too_late' ? 0 : undefined;
  }
}

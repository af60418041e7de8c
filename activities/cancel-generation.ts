/**
 * Tells a provider that a task's job is not wanted any more, and brings what the task may cost all the same: what the
 * provider bills, where it says so, and what it had finished, where the model's price goes by that.
 */
import { Context } from '@temporalio/activity';
import { formatUsd } from '../src/domain/money.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import { ProviderFailure } from '../src/providers/provider.ts';
import type { CancelOutcome } from '../src/providers/provider.ts';
import { readGeneration, readWorkingTask } from '../src/tasks/work.ts';
import type { Activities, StopResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { leaveUpstream } from './leave-upstream.ts';
import { routeAt, routesOf } from './task-route.ts';
import type { TaskRoute } from './task-route.ts';

/** Within an attempt of this activity, which has 10 s (workflows/activity-options.ts), after the provider was told. */
const LOOK_WITHIN_MS = 3_000;

export function createCancelGeneration(context: ActivityContext): Activities['cancelGeneration'] {
  return ({ taskId }) => stopJob(context, taskId, Context.current().cancellationSignal);
}

/** Tells the provider of a task's job, if there is one, to stop. Twice does no harm. */
export async function stopJob(context: ActivityContext, taskId: TaskId, signal: AbortSignal): Promise<StopResult> {
  const task = await readWorkingTask(context.database, taskId);
  const generation = await readGeneration(context.database, taskId);
  // Also of work that is done by now: it may be billed, and the provider is the one to say so.
  const jobId = generation === undefined || generation.state === 'intent' ? null : generation.jobId;
  if (generation === undefined || jobId === null) {
    for (const route of await routesOf(context, task)) await leaveUpstream(context, taskId, route);
    return {};
  }
  const route = await routeAt(context, task, generation.place);
  const { outcome, billedMicroUsd } = await route.provider.cancel(route.request, jobId, { signal });
  context.logger.info({ taskId, upstream: route.upstreamName, outcome }, 'the provider was told to stop');
  // Of a job whose files are recorded the settlement knows.
  const isKnown = generation.state === 'produced';
  const finishedFiles = isKnown ? undefined : await countFinished(route, jobId, outcome, signal);
  await leaveUpstream(context, taskId, route);
  return {
    outcome,
    ...(billedMicroUsd === undefined ? {} : { billedUsd: formatUsd(billedMicroUsd) }),
    ...(finishedFiles === undefined ? {} : { finishedFiles }),
  };
}

/**
 * Looks at a job that did not stop, where the model says what a cancel costs that came too late.
 *
 * @returns how many files it had finished; 0: it had, and does not say; undefined: it had not, or nobody asks.
 */
async function countFinished(
  { definition, provider, request }: TaskRoute,
  jobId: string,
  outcome: CancelOutcome,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { lateCancel = 'billed' } = definition.pricing;
  if (lateCancel === 'billed' || outcome === 'cancelled') return undefined;
  try {
    const look = AbortSignal.any([signal, AbortSignal.timeout(LOOK_WITHIN_MS)]);
    const state = await provider.poll(request, jobId, { signal: look });
    return state.kind === 'done' ? state.files.length : undefined;
  } catch (error) {
    // It had ended without a result.
    if (error instanceof ProviderFailure) return undefined;
    return outcome === 'too_late' ? 0 : undefined;
  }
}

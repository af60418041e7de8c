/**
 * Tells a provider that a task's job is not wanted any more, and brings what it bills all the same, where it says so.
 */
import { Context } from '@temporalio/activity';
import { formatUsd } from '../src/domain/money.ts';
import { readGeneration, readWorkingTask } from '../src/tasks/work.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { leaveUpstream } from './leave-upstream.ts';
import { routeAt, routesOf } from './task-route.ts';

export function createCancelGeneration(context: ActivityContext): Activities['cancelGeneration'] {
  return async ({ taskId }) => {
    const task = await readWorkingTask(context.database, taskId);
    const generation = await readGeneration(context.database, taskId);
    // Also of work that is done by now: it may be billed, and the provider is the one to say so.
    const jobId = generation === undefined || generation.state === 'intent' ? null : generation.jobId;
    if (generation === undefined || jobId === null) {
      for (const route of await routesOf(context, task)) await leaveUpstream(context, taskId, route);
      return {};
    }
    const route = await routeAt(context, task, generation.place);
    const signal = Context.current().cancellationSignal;
    const { outcome, billedMicroUsd } = await route.provider.cancel(route.request, jobId, { signal });
    context.logger.info({ taskId, upstream: route.upstreamName, outcome }, 'the provider was told to stop');
    await leaveUpstream(context, taskId, route);
    return { outcome, ...(billedMicroUsd === undefined ? {} : { billedUsd: formatUsd(billedMicroUsd) }) };
  };
}

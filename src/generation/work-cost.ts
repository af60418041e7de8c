/** What the work of an upstream costs the operator, as it is recorded with the outcome of the work. */
import { workCost } from '../catalogue/work-cost.ts';
import { formatUsd } from '../domain/money.ts';
import { mergeConsumption } from '../domain/provider-usage.ts';
import type { Consumption, WorkCost } from '../domain/provider-usage.ts';
import { readReported, recordCost } from '../tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { GenerationContext } from './context.ts';
import type { TaskRoute } from './task-route.ts';

/** @param files how many it produced; 0: it failed. */
export function workCostAt({ request, costRule, gated }: TaskRoute, files: number, consumption: Consumption): WorkCost {
  // The work of an embedded engine is not billed.
  if (gated === undefined) return { cost: { microUsd: 0n, source: 'rule' } };
  return workCost(costRule, request.input, files, consumption);
}

/** The account pays the hold at most. A price rule that exceeds it is reported when its file is read. */
export function warnOfExcess(
  { logger }: Pick<GenerationContext, 'logger'>,
  task: WorkingTask,
  route: TaskRoute,
  { cost }: WorkCost,
): void {
  if (cost === undefined || cost.source === 'rule' || cost.microUsd <= task.heldMicroUsd) return;
  logger.warn(
    {
      taskId: task.id,
      model: task.model,
      upstream: route.upstreamName,
      costUsd: formatUsd(cost.microUsd),
      heldUsd: formatUsd(task.heldMicroUsd),
      source: cost.source,
    },
    'work costs more than its hold; check the prices and the cost of the model file',
  );
}

/** Whether an upstream said anything about what work consumed. */
export function isReported({ usage, costMicroUsd }: Consumption): boolean {
  return usage !== undefined || costMicroUsd !== undefined;
}

/**
 * All that the upstream of a job says about its consumption.
 *
 * @param last what the last answer says.
 */
export async function consumptionOfJob(
  { database }: Pick<GenerationContext, 'database'>,
  route: TaskRoute,
  last: Consumption,
): Promise<Consumption> {
  return mergeConsumption(await readReported(database, route.request.taskId, route), last);
}

/** Records what an upstream says about the cost of work of which there are no files yet, or never will be. */
export async function recordConsumption(
  context: Pick<GenerationContext, 'database'>,
  route: TaskRoute,
  last: Consumption,
): Promise<void> {
  if (!isReported(last)) return;
  const consumption = await consumptionOfJob(context, route, last);
  await recordCost(context.database, route.request.taskId, route, workCostAt(route, 0, consumption));
}

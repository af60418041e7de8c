/**
 * Ends a task, or returns how it ended (src/tasks/lifecycle/settle.ts). Idempotent by the task's id.
 */
import { verdictOf } from '../src/generation/verdict.ts';
import type { Verdict } from '../src/tasks/lifecycle/settle.ts';
import type { WorkingTask } from '../src/tasks/lifecycle/transitions.ts';
import { TaskNotFoundError } from '../src/tasks/record/missing-task.ts';
import type { Activities, SettleInput, SettleResult, SettledTask } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

export function createSettleTask(context: ActivityContext): Activities['settleTask'] {
  return async (input: SettleInput) => {
    const outcome = await settle(context, input, await verdictOf(context, input));
    if (outcome === undefined) throw new TaskNotFoundError();
    return outcome;
  };
}

/**
 * Settles a task in the activity that has archived its outputs: one step less, whose cost and time every task would
 * have. What prevents it is left to the settlement that follows then, which has retries of its own.
 *
 * @returns undefined: it may not have been settled.
 */
export async function settleAtOnce(
  context: ActivityContext,
  input: SettleInput,
  task: WorkingTask,
): Promise<SettleResult | undefined> {
  try {
    return await settle(context, input, await verdictOf(context, input, task));
  } catch (error) {
    context.logger.debug({ err: error, taskId: input.taskId }, 'a settlement of its own has to follow');
    return undefined;
  }
}

/** @returns undefined: the database does not have the task. */
async function settle(
  context: ActivityContext,
  { taskId, accountId }: SettledTask,
  verdict: Verdict,
): Promise<SettleResult | undefined> {
  const outcome = await context.settler.settle(taskId, accountId, verdict);
  if (outcome !== undefined) context.logger.info({ taskId, ...outcome }, 'task settled');
  return outcome;
}

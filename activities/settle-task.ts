/**
 * Ends a task, or returns how it ended (src/tasks/lifecycle/settle.ts). Idempotent by the task's id.
 */
import { verdictOf } from '../src/generation/verdict.ts';
import { settleTask } from '../src/tasks/lifecycle/settle.ts';
import { TaskNotFoundError } from '../src/tasks/record/read.ts';
import type { Activities, SettleInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

export function createSettleTask(context: ActivityContext): Activities['settleTask'] {
  return async (input: SettleInput) => {
    const verdict = await verdictOf(context, input);
    const database = input.accountId === undefined ? context.database : context.accountDatabase(input.accountId);
    const outcome = await settleTask(database, input.taskId, verdict, {
      retentionDays: context.config.outputRetentionDays,
      onSettled: context.metrics.tasks.settled,
    });
    if (outcome === undefined) throw new TaskNotFoundError();
    context.logger.info({ taskId: input.taskId, ...outcome }, 'task settled');
    return outcome;
  };
}

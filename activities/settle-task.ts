/**
 * Ends a task, or returns how it ended (src/tasks/settle.ts). Idempotent by the task's id.
 */
import { actualCost } from '../src/catalogue/price.ts';
import { parseUsd } from '../src/domain/money.ts';
import { isTerminal } from '../src/domain/task-status.ts';
import { settleTask } from '../src/tasks/settle.ts';
import type { Verdict } from '../src/tasks/settle.ts';
import { readWorkingTask } from '../src/tasks/work.ts';
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
    if (outcome === undefined) throw new Error('a task that is not terminal was not settled');
    context.logger.info({ taskId: input.taskId, ...outcome }, 'a task was settled');
    return outcome;
  };
}

async function verdictOf(context: ActivityContext, input: SettleInput): Promise<Verdict> {
  if (input.status === 'fail') {
    const { billedUsd, ...verdict } = input;
    // Contract §4: after a cancel, what the provider bills, and never more than was held (settle.ts).
    const billed = billedUsd === undefined ? undefined : parseUsd(billedUsd);
    return { ...verdict, ...(billed === undefined ? {} : { capturedMicroUsd: billed }) };
  }
  const task = await readWorkingTask(context.database, input.taskId);
  const { pricing } = await context.definitions.read(task.definitionHash);
  const capturedMicroUsd = isTerminal(task.status) ? 0n : actualCost(pricing, task.input, input.outputs);
  return { status: 'success', outputs: input.outputs, capturedMicroUsd };
}

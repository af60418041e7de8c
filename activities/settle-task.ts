/**
 * Ends a task, or returns how it ended (src/tasks/lifecycle/settle.ts). Idempotent by the task's id.
 */
import { actualCost, finishedCost } from '../src/catalogue/price.ts';
import { parseUsd } from '../src/domain/money.ts';
import { isTerminal } from '../src/domain/task-status.ts';
import { TaskNotFoundError } from '../src/tasks/record/read.ts';
import { settleTask } from '../src/tasks/lifecycle/settle.ts';
import type { Verdict } from '../src/tasks/lifecycle/settle.ts';
import { readGeneration, readWorkingTask } from '../src/tasks/lifecycle/transitions.ts';
import type { Activities, SettleInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { isForAnotherRequest } from '../src/generation/earlier-work.ts';

export function createSettleTask(context: ActivityContext): Activities['settleTask'] {
  return async (input: SettleInput) => {
    const verdict = await verdictOf(context, input);
    const database = input.accountId === undefined ? context.database : context.accountDatabase(input.accountId);
    const outcome = await settleTask(database, input.taskId, verdict, {
      retentionDays: context.config.outputRetentionDays,
      onSettled: context.metrics.tasks.settled,
    });
    if (outcome === undefined) throw new TaskNotFoundError();
    context.logger.info({ taskId: input.taskId, ...outcome }, 'a task was settled');
    return outcome;
  };
}

async function verdictOf(context: ActivityContext, input: SettleInput): Promise<Verdict> {
  // The outcome of one request is not the outcome of the other.
  if (await isOfAnotherRequest(context, input)) return { status: 'fail', reason: 'outcome_unknown' };
  if (input.status === 'fail') {
    const { status, reason } = input;
    return reason === 'cancelled' ? cancelledVerdict(context, input) : { status, reason };
  }
  const task = await readWorkingTask(context.database, input.taskId);
  const { pricing } = await context.definitions.read(task.definitionHash);
  const capturedMicroUsd = isTerminal(task.status) ? 0n : actualCost(pricing, task.input, input.outputs);
  return { status: 'success', outputs: input.outputs, capturedMicroUsd };
}

/** Whether the database has lost the task that the workflow is for, and has another under its key (docs/decisions/0037). */
async function isOfAnotherRequest(context: ActivityContext, { taskId, requestHash }: SettleInput): Promise<boolean> {
  if (requestHash === undefined) return false;
  return isForAnotherRequest(context, await readWorkingTask(context.database, taskId), requestHash);
}

/**
 * What a cancelled task costs (contract §4): what its provider bills, if it reports that; if the provider had finished
 * all the same, what the model's `lateCancel` defines. Never more than was held (settle.ts).
 */
async function cancelledVerdict(
  { database, definitions }: ActivityContext,
  { taskId, status, reason, billedUsd, finishedFiles }: Extract<SettleInput, { status: 'fail' }>,
): Promise<Verdict> {
  const billed = billedUsd === undefined ? undefined : parseUsd(billedUsd);
  const asBilled: Verdict = {
    status,
    reason,
    ...(billed === undefined ? {} : { capturedMicroUsd: billed, billedMicroUsd: billed }),
  };
  const task = await readWorkingTask(database, taskId);
  if (isTerminal(task.status)) return asBilled;
  const { pricing } = await definitions.read(task.definitionHash);
  const { lateCancel = 'billed' } = pricing;
  if (lateCancel === 'billed') return asBilled;

  const generation = await readGeneration(database, taskId);
  const finished = generation?.state === 'produced' ? generation.files.length : finishedFiles;
  if (finished === undefined) return asBilled;
  if (lateCancel === 'free') return { ...asBilled, capturedMicroUsd: 0n };
  if (finished === 0) return asBilled;
  const price = finishedCost(pricing, task.input, finished);
  // The price of finished work covers what it cost, unless the provider reports otherwise.
  return { status, reason, capturedMicroUsd: price, billedMicroUsd: billed ?? price };
}

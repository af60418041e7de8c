/** How a settlement ends a task: what a success costs, and what a failure does (src/tasks/lifecycle/settle.ts). */
import { actualCost, finishedCost, isByUsage } from '../catalogue/price.ts';
import type { Pricing } from '../catalogue/price.ts';
import { parseUsd } from '../domain/money.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Verdict } from '../tasks/lifecycle/settle.ts';
import { readGenerationUsage, readGeneration } from '../tasks/lifecycle/generations.ts';
import { readWorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { SettleInput } from '../../workflows/contracts.ts';
import type { GenerationContext } from './context.ts';
import { isForAnotherRequest } from './earlier-work.ts';

type FailInput = Extract<SettleInput, { readonly status: 'fail' }>;
type VerdictContext = Pick<GenerationContext, 'database' | 'definitions' | 'logger'>;

/**
 * @param input the end that the workflow asks for; the verdict is another if that is the end of another request.
 * @param known the task, if it has just been read.
 */
export async function verdictOf(context: VerdictContext, input: SettleInput, known?: WorkingTask): Promise<Verdict> {
  const { taskId, requestHash } = input;
  if (requestHash === undefined && input.status === 'fail' && input.reason !== 'cancelled') return failure(input);
  const task = known ?? (await readWorkingTask(context.database, taskId));
  // The database may have lost the task that the workflow is for, and have another under its key (docs/decisions/0005).
  // The outcome of one request is not the outcome of the other.
  if (requestHash !== undefined && isForAnotherRequest(context, task, requestHash)) {
    return { status: 'fail', reason: 'outcome_unknown' };
  }
  if (input.status === 'fail') {
    return input.reason === 'cancelled' ? cancelledVerdict(context, input, task) : failure(input);
  }
  if (isTerminal(task.status)) return { status: 'success', outputs: input.outputs, capturedMicroUsd: 0n };
  const { pricing } = await context.definitions.read(task.definitionHash);
  const usage = await usageFor(context, pricing, taskId);
  const capturedMicroUsd = actualCost(pricing, task.input, input.outputs, usage, task.priceFactor);
  return { status: 'success', outputs: input.outputs, capturedMicroUsd };
}

function failure({ status, reason }: FailInput): Verdict {
  return { status, reason };
}

/** What was reported, if the price depends on it. */
async function usageFor({ database }: VerdictContext, pricing: Pricing, taskId: TaskId) {
  return isByUsage(pricing) ? readGenerationUsage(database, taskId) : undefined;
}

/**
 * What a cancelled task costs (contract §4): what its provider bills, if it reports that; if the provider had finished
 * all the same, what the model's `lateCancel` defines. Never more than was held (settle.ts).
 */
async function cancelledVerdict(
  context: VerdictContext,
  { taskId, status, reason, billedUsd, finishedFiles }: FailInput,
  task: WorkingTask,
): Promise<Verdict> {
  const { database, definitions } = context;
  const billed = billedUsd === undefined ? undefined : parseUsd(billedUsd);
  const asBilled: Verdict = {
    status,
    reason,
    ...(billed === undefined ? {} : { capturedMicroUsd: billed, billedMicroUsd: billed, reportedMicroUsd: billed }),
  };
  if (isTerminal(task.status)) return asBilled;
  const { pricing } = await definitions.read(task.definitionHash);
  const { lateCancel = 'billed' } = pricing;
  if (lateCancel === 'billed') return asBilled;

  const generation = await readGeneration(database, taskId);
  const finished = generation?.state === 'produced' ? generation.files.length : finishedFiles;
  if (finished === undefined) return asBilled;
  if (lateCancel === 'free') return { ...asBilled, capturedMicroUsd: 0n };
  if (finished === 0) return asBilled;
  const usage = await usageFor(context, pricing, taskId);
  const price = finishedCost(pricing, task.input, finished, usage, task.priceFactor);
  // The price of finished work covers what it cost, unless the provider reports otherwise.
  return { ...asBilled, capturedMicroUsd: price, billedMicroUsd: billed ?? price };
}

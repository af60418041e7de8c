/**
 * Checks, for a run that is about to end as cancelled, whether an earlier run had ended the task with a different
 * outcome: its receiver may have been notified of that, and a cancel that was accepted after the database had lost the
 * end came too late (docs/decisions/0037).
 */
import { isTerminal } from '../src/domain/task-status.ts';
import { readGeneration, readWorkingTask } from '../src/tasks/lifecycle/transitions.ts';
import type { Activities, MediaTaskInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { submitResultOf, takeOver } from '../src/generation/earlier-work.ts';

export function createTakeOverRun(context: ActivityContext): Activities['takeOverRun'] {
  return async ({ taskId, earlierRunId }: MediaTaskInput) => {
    const task = await readWorkingTask(context.database, taskId);
    if (earlierRunId === undefined || isTerminal(task.status)) return {};
    // What is already recorded may be further along than the work of a run that had ended nothing.
    const onlyIfEnded = (await readGeneration(context.database, taskId)) !== undefined;
    const found = await takeOver(context, task, earlierRunId, onlyIfEnded);
    if (found.kind === 'ended') return { decided: found.result };
    if (found.kind === 'none' || !found.isDecided || found.generation.state === 'intent') return {};
    return { decided: submitResultOf(task, found.generation) };
  };
}

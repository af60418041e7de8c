/** `cancel`: requests that tasks be cancelled. It returns at once; the task may still be ending. */
import type { Command } from 'commander';
import { ApiError } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { NotDoneError, UsageError } from '../errors.ts';
import type { OpenSession } from '../session.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { WireTask } from '@darkroom/api/tasks/task';

export function addCancelCommand(program: Command, open: OpenSession): void {
  program
    .command('cancel')
    .description('cancel tasks that are queued or being handled')
    .argument('<taskId...>', 'ids of tasks')
    .action(async (taskIds: readonly string[]) => {
      const { api, terminal, signal, isJson } = await open();
      const tasks: WireTask[] = [];
      const unknown: string[] = [];
      for (const taskId of taskIds) {
        const task = await cancel(api, taskId, signal);
        if (task === undefined) unknown.push(taskId);
        else tasks.push(task);
        if (task !== undefined && !isJson) terminal.print(`${task.taskId}  ${whatBecameOf(task)}`);
      }
      if (isJson) terminal.printJson(tasks);
      const late = tasks.filter(isTooLate).map(({ taskId }) => taskId);
      const problems = [
        ...(late.length > 0 ? [`too late to cancel: ${late.join(', ')}`] : []),
        ...(unknown.length > 0 ? [`there is no such task: ${unknown.join(', ')}`] : []),
      ];
      if (tasks.length === 0) throw new UsageError(problems.join('\n'));
      if (problems.length > 0) throw new NotDoneError(problems.join('\n'));
    });
}

/** @returns undefined if there is no such task: the others are cancelled all the same. */
async function cancel(api: ApiClient, taskId: string, signal: AbortSignal): Promise<WireTask | undefined> {
  try {
    return await api.call<WireTask>('POST', `/tasks/${encodeURIComponent(taskId)}/cancel`, { signal });
  } catch (error) {
    if (error instanceof ApiError && ['not_found', 'task_pruned'].includes(error.kind)) return undefined;
    throw error;
  }
}

function whatBecameOf(task: WireTask): string {
  if (isTooLate(task)) return `${task.status}: too late to cancel`;
  return isTerminal(task.status) ? 'cancelled' : `${task.status}: will be cancelled`;
}

/** From archiving on a cancel has no effect (contract §4). */
function isTooLate({ status, error }: WireTask): boolean {
  if (status === 'fail') return error?.code !== 'TASK_CANCELLED';
  return status === 'archiving' || status === 'success';
}

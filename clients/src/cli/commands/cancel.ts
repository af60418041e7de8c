/** `cancel`: asks that tasks end. It answers at once; the task may still be ending. */
import type { Command } from 'commander';
import { isOver } from '../answers.ts';
import type { Task } from '../answers.ts';
import { NotDoneError } from '../errors.ts';
import type { OpenSession } from '../session.ts';

export function addCancelCommand(program: Command, open: OpenSession): void {
  program
    .command('cancel')
    .description('cancel tasks that are queued or being handled')
    .argument('<taskId...>', 'ids of tasks')
    .action(async (taskIds: readonly string[]) => {
      const { api, terminal, signal, isJson } = await open();
      const tasks: Task[] = [];
      for (const taskId of taskIds) {
        const task = await api.call<Task>('POST', `/tasks/${encodeURIComponent(taskId)}/cancel`, { signal });
        tasks.push(task);
        if (!isJson) terminal.print(`${task.taskId}  ${whatBecameOf(task)}`);
      }
      if (isJson) terminal.printJson(tasks);
      const late = tasks.filter(isTooLate);
      if (late.length > 0) {
        throw new NotDoneError(`too late to cancel: ${late.map(({ taskId }) => taskId).join(', ')}`);
      }
    });
}

function whatBecameOf(task: Task): string {
  if (isTooLate(task)) return `${task.status}: too late to cancel`;
  return isOver(task) ? 'cancelled' : `${task.status}: will be cancelled`;
}

/** From archiving on cancelling changes nothing (contract §4). */
function isTooLate({ status, error }: Task): boolean {
  if (status === 'fail') return error?.code !== 'TASK_CANCELLED';
  return status === 'archiving' || status === 'success';
}

/** What must hold although the database lost commits: what a loss may undo, and what it must not. */
import type { Evidence, Invariant } from '../evidence.ts';
import { mayBeUndone } from '../losses.ts';
import { isAccepted } from '../records.ts';
import type { TaskAnswer } from '../records.ts';
import { finalTasks } from './tasks.ts';

export const goneOnlyWhereLost: Invariant = {
  name: 'an accepted task is not found only where the database had lost it',
  check({ clients, losses }) {
    const accepted = clients.filter(isAccepted);
    return clients.flatMap((line) => {
      if (line.kind !== 'read' || line.outcome.kind !== 'answer' || line.outcome.status !== 404) return [];
      const kept = accepted.find(
        (each) => each.taskId === line.taskId && each.ended < line.begun && !mayBeUndone(each, losses, line.ended),
      );
      if (kept === undefined) return [];
      return [{ subject: line.taskId, detail: `accepted at ${kept.ended}, and not found at ${line.begun}` }];
    });
  },
};

/** The tasks that were reported as a success: when and how. */
function announcedSuccesses({ clients, receivers }: Evidence): ReadonlyMap<string, string> {
  const announced = new Map<string, string>();
  for (const line of clients) {
    if (line.kind === 'read' && line.task?.status === 'success')
      announced.set(line.taskId, `an answer at ${line.ended}`);
  }
  for (const line of receivers) {
    if (line.kind !== 'received') continue;
    const task = JSON.parse(line.body) as Partial<TaskAnswer>;
    if (task.taskId !== undefined && task.status === 'success') announced.set(task.taskId, `a callback at ${line.at}`);
  }
  return announced;
}

export const successStays: Invariant = {
  name: 'what was announced as a success is no failure later, whatever the database lost',
  check(evidence) {
    const finals = finalTasks(evidence);
    return [...announcedSuccesses(evidence)].flatMap(([taskId, by]) => {
      const final = finals.get(taskId);
      if (final === undefined || final.status === 'success') return [];
      const reason = final.error?.reason ?? '';
      return [{ subject: taskId, detail: `${by} said success, at last it is ${final.status} ${reason}` }];
    });
  },
};

/** What must hold whatever clock a process has: the database's clock decides (docs/decisions/0007). */
import type { Evidence, Invariant } from '../evidence.ts';
import { finalTasks } from './tasks.ts';

/** Contract §5: how long outputs are kept. */
const KEPT_SECONDS = 7 * 86_400;
/**
 * Tolerance between two stamps of one settlement, and between our clock and the database's, which is the same
 * machine's.
 */
const GRANTED_SECONDS = 60;
const DAY_SECONDS = 86_400;

export const oneClockDecides: Invariant = {
  name: 'nothing is stamped, charged, expired or deleted by a clock that is wrong',
  check(evidence) {
    const { begun, ended } = spanOf(evidence);
    const isWithin = (seconds: number): boolean =>
      seconds >= begun - GRANTED_SECONDS && seconds <= ended + GRANTED_SECONDS;
    const tasks = [...finalTasks(evidence).values()].flatMap((task) => {
      const problems: string[] = [];
      if (!isWithin(task.created)) problems.push(`created at ${task.created}`);
      if (task.completed !== 0 && !isWithin(task.completed)) problems.push(`completed at ${task.completed}`);
      // The whole campaign is shorter than any retention period.
      for (const { id, reason } of task.outputGone ?? []) if (reason === 'expired') problems.push(`${id} has expired`);
      for (const { id, retainUntil = 0 } of task.output ?? []) {
        const keptSeconds = retainUntil - task.completed;
        if (retainUntil !== 0 && Math.abs(keptSeconds - KEPT_SECONDS) > GRANTED_SECONDS)
          problems.push(`${id} is kept for ${keptSeconds} s`);
      }
      return problems.map((detail) => ({ subject: task.taskId, detail }));
    });
    const charges = [...evidence.accounts.values()].flatMap(({ ledger }) =>
      ledger.flatMap(({ kind, reference }) => {
        const [, day] = /^storage:.*:(\d{4}-\d{2}-\d{2})$/.exec(reference) ?? [];
        if (day === undefined) return [];
        const dayBegins = Date.parse(day) / 1000;
        const isOver = dayBegins + DAY_SECONDS <= ended;
        if (isOver && dayBegins + DAY_SECONDS > begun) return [];
        return [{ subject: reference, detail: `${kind} for a day that ${isOver ? 'was over before' : 'is not over'}` }];
      }),
    );
    return [...tasks, ...charges];
  },
};

/** From a client's first action to the last one: Unix seconds. */
function spanOf({ clients, downloads }: Evidence): { readonly begun: number; readonly ended: number } {
  const lines = [...clients, ...downloads];
  return {
    begun: lines.reduce((least, { begun }) => Math.min(least, begun), Infinity) / 1000,
    ended: lines.reduce((most, { ended }) => Math.max(most, ended), 0) / 1000,
  };
}

/**
 * When a failed task is tried again as a new one: after 5 s, 15 s and 45 s, at most three times, and only where the
 * service says that it may well succeed then (spec §7, contract §3 `error.retryable`).
 */
import type { Task } from './answers.ts';

const WAITS_SECONDS = [5, 15, 45] as const;

/**
 * How long to wait before a task is tried again.
 *
 * @param retries how many new tasks there were already.
 * @returns seconds; undefined: not at all.
 */
export function retryWaitSeconds(task: Task, retries: number): number | undefined {
  if (task.status !== 'fail' || task.error?.retryable !== true) return undefined;
  return WAITS_SECONDS[retries];
}

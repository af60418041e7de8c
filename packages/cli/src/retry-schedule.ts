/**
 * When a failed task is retried as a new one: after 5 s, 15 s and 45 s, at most three times, and only if the service
 * states that a retry may succeed (spec §7, contract §3 `error.retryable`).
 */
import type { WireTask } from '@darkroom/api/tasks/task';

const WAITS_SECONDS = [5, 15, 45] as const;

/**
 * How long to wait before a task is retried.
 *
 * @param retries how many new tasks have been created already.
 * @returns seconds; undefined: no retry.
 */
export function retryWaitSeconds(task: WireTask, retries: number): number | undefined {
  if (task.status !== 'fail' || task.error?.retryable !== true) return undefined;
  return WAITS_SECONDS[retries];
}

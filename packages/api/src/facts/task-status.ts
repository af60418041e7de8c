/**
 * The states of a task (spec §3). The spec shows no transitions; those of contract §3 are ours. The module has no side
 * effects, so that workflows may import it.
 */

/** In the order in which a task passes through them; `fail` can follow any that is not terminal. */
export const TASK_STATUSES = ['queued', 'handling', 'archiving', 'success', 'fail'] as const;

/** What `GET /tasks/{id}` calls `status`. */
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** The states that trigger a callback and are never left (spec §3). */
export const TERMINAL_STATUSES = ['success', 'fail'] as const satisfies readonly TaskStatus[];

/** A state that is never left. */
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

/** Whether the task will never change its status again. */
export function isTerminal(status: TaskStatus): status is TerminalStatus {
  return status === 'success' || status === 'fail';
}

import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';

/**
 * What is known about the workflow behind a task; `unknown` if Temporal was not queried or did not respond.
 * `completed`: it ended by itself, as a success, a failure or cancelled. `abnormal`: it was ended from outside.
 */
export type WorkflowState = 'unknown' | 'missing' | 'running' | 'completed' | 'abnormal';

/** What a reader sees, and what the repair has to do about it. */
export interface ObservedTask {
  readonly status: TaskStatus;
  /**
   * `settle`: the workflow was ended without settling; `restart`: there is no workflow and nothing that would start
   * one, or one that has settled the task, whose commit the database has lost.
   */
  readonly repair: 'none' | 'settle' | 'restart';
}

/**
 * Maps a task's row and the state of its workflow to the status that a caller sees.
 *
 * The row is the record (architecture, "PostgreSQL is the record that callers see"), so the status is always the
 * row's; the workflow only decides whether the row has to be repaired.
 *
 * @param hasOutboxRow whether a start is still waiting to be delivered: such a task is late, not lost.
 */
export function observeTask(status: TaskStatus, workflow: WorkflowState, hasOutboxRow: boolean): ObservedTask {
  if (isTerminal(status) || workflow === 'unknown' || workflow === 'running') return { status, repair: 'none' };
  if (workflow === 'abnormal') return { status, repair: 'settle' };
  return { status, repair: hasOutboxRow ? 'none' : 'restart' };
}

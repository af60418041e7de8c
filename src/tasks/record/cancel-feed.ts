/**
 * Reports the tasks that were cancelled, or have ended, while a worker is at work on them. Only a hint: the worker then
 * asks Temporal at once, with a heartbeat, instead of at its next one, which may be a minute away. One statement a
 * second, whatever the number of tasks, and none while there are none.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { createPoller } from '../../database/poller.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';

const POLL_INTERVAL_MS = 1_000;

const selectUnwanted: Statement = {
  name: 'select_unwanted_tasks',
  text: `SELECT id FROM tasks
          WHERE id = ANY ($1::text[]) AND (cancel_requested_at IS NOT NULL OR completed_at IS NOT NULL)`,
};

export interface CancelFeed {
  /**
   * Calls back once a second as long as the task is cancelled or over.
   *
   * @returns ends that.
   */
  watch(taskId: TaskId, onUnwanted: () => void): () => void;
}

export function createCancelFeed({
  database,
  logger,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
}): CancelFeed {
  const watchers = new Map<TaskId, Set<() => void>>();

  const poll = async (): Promise<void> => {
    if (watchers.size === 0) return;
    const unwanted = await database.query<{ id: TaskId }>(selectUnwanted, [[...watchers.keys()]]);
    for (const { id } of unwanted) for (const notify of watchers.get(id) ?? []) notify();
  };

  // A failed poll needs no more than the next one: heartbeats report a cancel too, only later.
  const poller = createPoller({
    what: 'the cancels of tasks',
    poll,
    isNeeded: () => watchers.size > 0,
    waitMs: () => POLL_INTERVAL_MS,
    logger,
  });

  return {
    watch(taskId, onUnwanted) {
      const ofTask = watchers.get(taskId) ?? new Set();
      ofTask.add(onUnwanted);
      watchers.set(taskId, ofTask);
      poller.schedule();
      return () => {
        ofTask.delete(onUnwanted);
        if (ofTask.size === 0 && watchers.get(taskId) === ofTask) watchers.delete(taskId);
      };
    },
  };
}

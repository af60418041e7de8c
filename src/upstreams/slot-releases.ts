/**
 * Tasks that release their slot at an upstream, or leave its queue. If the upstream's row cannot be had in time,
 * because another process keeps it locked or the database is unavailable, this is retried until it succeeds: otherwise
 * the slot of a task that continues elsewhere would stay taken until that task ends. None of this survives the
 * process; then the slots are swept (slots.ts).
 */
import { DatabaseUnavailableError } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Logger } from '../telemetry/log.ts';

const RETRY_AFTER_MS = 1_000;
/**
 * The maximum number of tasks in one transaction. Each needs several statements, and others wait for the upstream's row
 * during it.
 */
const MAX_TOGETHER = 20;
/** The maximum number of tasks of one upstream whose slots wait to be released. The sweep releases those beyond it. */
const MAX_PENDING = 10_000;

export interface SlotReleases {
  /**
   * Returns once the task has left, or if the database was not available: then it is retried. Throws any other error.
   */
  release(upstream: string, taskId: TaskId): Promise<void>;
  /** The task is back: a release that has not been written is withdrawn, and it keeps what it has there. */
  withdraw(upstream: string, taskId: TaskId): Promise<void>;
}

export function createSlotReleases({
  releaseAll,
  logger,
}: {
  /** Removes tasks from the upstream, all of them or none. */
  readonly releaseAll: (upstream: string, taskIds: readonly TaskId[]) => Promise<unknown>;
  readonly logger: Logger;
}): SlotReleases {
  /** Tasks that have yet to leave, by upstream. */
  const pending = new Map<string, Set<TaskId>>();
  const retrying = new Map<string, Promise<void>>();

  /** @returns whether to try again. Never throws. */
  const retry = async (upstream: string, tasks: Set<TaskId>): Promise<boolean> => {
    const together = [...tasks].slice(0, MAX_TOGETHER);
    try {
      await releaseAll(upstream, together);
    } catch (err) {
      if (err instanceof DatabaseUnavailableError) return true;
      logger.warn({ err, upstream, tasks: tasks.size }, 'releasing slots failed; the sweep will release them');
      tasks.clear();
      return false;
    }
    for (const taskId of together) tasks.delete(taskId);
    return tasks.size > 0;
  };

  const retryLater = (upstream: string, tasks: Set<TaskId>): void => {
    setTimeout(() => {
      const trying = retry(upstream, tasks).then((hasMore) => {
        retrying.delete(upstream);
        if (hasMore) retryLater(upstream, tasks);
        else pending.delete(upstream);
      });
      retrying.set(upstream, trying);
    }, RETRY_AFTER_MS).unref();
  };

  const addPending = (upstream: string, taskId: TaskId, err: DatabaseUnavailableError): void => {
    const known = pending.get(upstream);
    const tasks = known ?? new Set<TaskId>();
    if (tasks.size < MAX_PENDING) tasks.add(taskId);
    if (known !== undefined) return;
    logger.warn({ err, upstream }, 'releasing slots failed; retrying');
    pending.set(upstream, tasks);
    retryLater(upstream, tasks);
  };

  return {
    async release(upstream, taskId) {
      try {
        await releaseAll(upstream, [taskId]);
      } catch (err) {
        if (!(err instanceof DatabaseUnavailableError)) throw err;
        addPending(upstream, taskId, err);
      }
    },
    async withdraw(upstream, taskId) {
      // If its release is being written at this moment, the task has left before it comes back.
      if (pending.get(upstream)?.delete(taskId) === true) await retrying.get(upstream);
    },
  };
}

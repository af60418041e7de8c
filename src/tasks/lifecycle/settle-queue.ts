/**
 * Brings the settlements of one account together, so that many share one commit (database/batches.ts,
 * docs/decisions/0012). Each of them changes the account's one row and keeps it locked until it is on disk.
 */
import { createBatches } from '../../database/batches.ts';
import { DatabaseUnavailableError, LockTimeoutError } from '../../database/database.ts';
import type { Database } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import { settleTask, settleTogether } from './settle.ts';
import type { Outcome, SettleOptions, Verdict } from './settle.ts';

/** The maximum number of tasks in one transaction, whose rows are locked meanwhile. */
const MAX_TOGETHER = 50;

export interface Settler {
  /**
   * Ends a task, or returns how it ended (settle.ts).
   *
   * @returns undefined: there is no such task.
   */
  settle(taskId: TaskId, accountId: string, verdict: Verdict): Promise<Outcome | undefined>;
}

export interface SettlerOptions extends Pick<SettleOptions, 'retentionDays' | 'onSettled'> {
  /** The database for one account: its waiting settlements hold no other account's connection. */
  readonly accountDatabase: AccountDatabase;
}

interface Request {
  readonly taskId: TaskId;
  readonly verdict: Verdict;
  readonly resolve: (outcome: Outcome | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export function createSettler({ accountDatabase, ...options }: SettlerOptions): Settler {
  const batches = createBatches<Request>({
    work: (accountId, requests) => settleAll(accountDatabase(accountId), requests, options),
    fitting,
  });
  return {
    settle(taskId, accountId, verdict) {
      return new Promise((resolve, reject) => {
        batches.add(accountId, { taskId, verdict, resolve, reject });
      });
    },
  };
}

/** How many of the first requests fit into one transaction: at least one, and no task twice. */
function fitting(requests: readonly Request[]): number {
  const taskIds = new Set<TaskId>();
  for (const { taskId } of requests) {
    if (taskIds.size === MAX_TOGETHER || taskIds.has(taskId)) break;
    taskIds.add(taskId);
  }
  return taskIds.size;
}

/** Answers every request; never throws. */
async function settleAll(database: Database, requests: readonly Request[], options: SettleOptions): Promise<void> {
  try {
    const outcomes = await settleTogether(database, requests, options);
    for (const { taskId, resolve } of requests) resolve(outcomes.get(taskId));
  } catch (error) {
    // Where one of them is at fault, or its row is locked, the others must not wait for it.
    if (requests.length > 1 && (isLockTimeout(error) || !(error instanceof DatabaseUnavailableError))) {
      await settleEach(database, requests, options);
      return;
    }
    for (const { reject } of requests) reject(error);
  }
}

/** How many waits for a lock show that it is not one task's: each takes seconds, and all others wait meanwhile. */
const MAX_LOCK_TIMEOUTS = 2;

async function settleEach(database: Database, requests: readonly Request[], options: SettleOptions): Promise<void> {
  let timeouts = 0;
  let timeout: unknown;
  for (const { taskId, verdict, resolve, reject } of requests) {
    if (timeouts === MAX_LOCK_TIMEOUTS) {
      reject(timeout);
      continue;
    }
    try {
      resolve(await settleTask(database, taskId, verdict, options));
    } catch (error) {
      reject(error);
      if (!isLockTimeout(error)) continue;
      timeouts += 1;
      timeout = error;
    }
  }
}

/** The database for one account reports it as the cause of its own error. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof LockTimeoutError || (error instanceof Error && error.cause instanceof LockTimeoutError);
}

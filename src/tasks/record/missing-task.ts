/**
 * Why a task cannot be read: there is none, or it was pruned (docs/decisions/0026). Looked up only where its row is
 * missing, so that reads of tasks cost nothing more.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

/** There is no such task, or it is another account's: one error for both (contract §1). */
export class TaskNotFoundError extends DarkroomError {
  override readonly name: string = 'TaskNotFoundError';
  override readonly kind: 'not_found' | 'task_pruned' = 'not_found';

  constructor(message = 'there is no such task') {
    super(message);
  }
}

/** When a pruned task was created, ended and pruned. */
export interface PrunedDates {
  readonly createdAt: Date;
  readonly completedAt: Date;
  readonly prunedAt: Date;
}

/** The task ended longer ago than tasks are retained (contract §4.10). */
export class TaskPrunedError extends TaskNotFoundError {
  override readonly name = 'TaskPrunedError';
  override readonly kind = 'task_pruned';
  readonly dates: PrunedDates;

  constructor(dates: PrunedDates) {
    const { createdAt, completedAt, prunedAt } = dates;
    super(
      `the task was created at ${inSeconds(createdAt)}, ended at ${inSeconds(completedAt)} and was removed at ${inSeconds(prunedAt)}, because tasks are retained for a limited time`,
    );
    this.dates = dates;
  }
}

function inSeconds(date: Date): string {
  return date.toISOString().replace(/\.\d{3}Z$/, 'Z');
}

const selectPruned: Statement = {
  name: 'select_pruned_task',
  text: `SELECT created_at AS "createdAt", completed_at AS "completedAt", pruned_at AS "prunedAt"
           FROM pruned_tasks WHERE task_id = $1 AND ($2::text IS NULL OR account_id = $2)`,
};

const selectArchive: Statement = {
  name: 'select_archive_of_pruned_task',
  text: `SELECT p.account_id AS "accountId", a.object_key AS "objectKey"
           FROM pruned_tasks p JOIN task_archives a ON a.id = p.archive_id WHERE p.task_id = $1`,
};

/** Where operators find what a pruned task was: the object has a line for it. */
export interface ArchiveOfTask {
  readonly accountId: string;
  readonly objectKey: string;
}

/** @throws {TaskNotFoundError} the task was not pruned. */
export async function readArchive(database: Queryable, taskId: TaskId): Promise<ArchiveOfTask> {
  const [archive] = await database.query<ArchiveOfTask>(selectArchive, [taskId]);
  if (archive === undefined) throw new TaskNotFoundError();
  return archive;
}

/**
 * The error for a task whose row is missing.
 *
 * @param accountId whose task it must have been; undefined for our own processes.
 */
export async function missingTask(
  database: Queryable,
  taskId: TaskId,
  accountId?: string,
): Promise<TaskNotFoundError | TaskPrunedError> {
  const [dates] = await database.query<PrunedDates>(selectPruned, [taskId, accountId ?? null]);
  return dates === undefined ? new TaskNotFoundError() : new TaskPrunedError(dates);
}

/**
 * Reading tasks for their owner: one indexed read that brings the row, its outputs and its callback's state together
 * (contract §3), and why a task cannot be read. Nothing here queries Temporal.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/** A stored output as a task's detail shows it. */
export interface TaskOutput {
  readonly id: string;
  readonly position: number;
  readonly type: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
  readonly sha256: string;
  readonly storageTier: 'temp' | 'persistent';
  /** Unix seconds; null for persistent ones. */
  readonly retainUntil: number | null;
  readonly goneAt: number | null;
  readonly goneReason: 'deleted' | 'expired' | null;
}

/**
 * Whether an output can no longer be read: it was deleted, or its retention has ended by now.
 *
 * @param now milliseconds since 1970.
 */
export function isOutputGone({ goneAt, retainUntil }: TaskOutput, now: number): boolean {
  return goneAt !== null || (retainUntil !== null && retainUntil * 1000 <= now);
}

/** Everything that a detail is made of. Times are Unix seconds. */
export interface TaskDetail {
  readonly id: TaskId;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly route: string | null;
  readonly status: TaskStatus;
  readonly storage: 'temp' | 'persistent';
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly heldMicroUsd: bigint;
  readonly capturedMicroUsd: bigint | null;
  /** What its price is multiplied by (NewTask); null if there is nothing. */
  readonly priceFactor: string | null;
  readonly errorReason: FailureReason | null;
  /** What was wrong with the input, where we found the fault: the field's path and the case. */
  readonly errorField: string | null;
  readonly errorCase: string | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  /** Percent, while it is being handled and where that is known. */
  readonly progress: number | null;
  readonly completedAt: number | null;
  readonly definitionHash: string;
  /** Seconds since the row last changed, by the database's clock. */
  readonly idleSeconds: number;
  /** Seconds since it was created, by the database's clock. */
  readonly ageSeconds: number;
  readonly outputs: readonly TaskOutput[];
  readonly callback: {
    readonly state: string;
    readonly attempts: number;
    readonly nextAttemptAt: number | null;
  } | null;
}

/** A row of `TASK_DETAIL_COLUMNS`. */
export interface TaskRow extends Omit<TaskDetail, 'outputs'> {
  readonly outputs: TaskOutput[] | null;
}

/** The columns of a detail, of `tasks t`; lists read the same. */
export const TASK_DETAIL_COLUMNS = `t.id, t.account_id AS "accountId", t.key_id AS "keyId", t.model, t.route, t.status, t.storage, t.metadata,
  t.held_micro_usd AS "heldMicroUsd", t.captured_micro_usd AS "capturedMicroUsd",
  t.price_factor AS "priceFactor",
  t.error_reason AS "errorReason", t.error_field AS "errorField", t.error_case AS "errorCase", t.definition_hash AS "definitionHash",
  floor(extract(epoch FROM t.created_at))::float8 AS "createdAt",
  floor(extract(epoch FROM t.started_at))::float8 AS "startedAt",
  CASE WHEN t.status = 'handling' THEN t.progress END AS progress,
  floor(extract(epoch FROM t.completed_at))::float8 AS "completedAt",
  extract(epoch FROM now() - t.updated_at)::float8 AS "idleSeconds",
  extract(epoch FROM now() - t.created_at)::float8 AS "ageSeconds",
  CASE WHEN t.status = 'success' THEN (
    SELECT json_agg(json_build_object(
             'id', o.id, 'position', o.position, 'type', o.type, 'mimeType', o.mime_type,
             'sizeBytes', o.size_bytes, 'width', o.width, 'height', o.height,
             'durationSeconds', o.duration_seconds, 'sha256', o.sha256, 'storageTier', o.storage_tier,
             'retainUntil', floor(extract(epoch FROM o.retain_until)),
             'goneAt', floor(extract(epoch FROM o.gone_at)), 'goneReason', o.gone_reason)
           ORDER BY o.position)
      FROM outputs o WHERE o.task_id = t.id) END AS outputs,
  (SELECT json_build_object('state', c.state, 'attempts', c.attempts,
                            'nextAttemptAt', floor(extract(epoch FROM c.next_attempt_at)))
     FROM callbacks c WHERE c.task_id = t.id) AS callback`;

const selectTask: Statement = {
  name: 'select_task_detail',
  text: `SELECT ${TASK_DETAIL_COLUMNS} FROM tasks t WHERE t.id = $1 AND ($2::text IS NULL OR t.account_id = $2)`,
};

/**
 * Reads one task.
 *
 * @param accountId whose task it must be; undefined for our own processes, which act for its owner.
 * @throws {TaskNotFoundError} @throws {TaskPrunedError}
 */
export async function readTask(database: Queryable, taskId: TaskId, accountId?: string): Promise<TaskDetail> {
  const [row] = await database.query<TaskRow>(selectTask, [taskId, accountId ?? null]);
  if (row === undefined) throw await missingTask(database, taskId, accountId);
  return detailOf(row);
}

/** Converts a row of `TASK_DETAIL_COLUMNS` to the detail. */
export function detailOf(row: TaskRow): TaskDetail {
  return { ...row, outputs: row.outputs ?? [] };
}

/** The maximum number of tasks in one statement: the responses of all of them wait for its last row. */
const MAX_TOGETHER = 64;

/**
 * The array is the result of a subquery, whose length the planner does not know: otherwise it would plan every
 * execution anew, for the length that it has, which takes longer than the execution.
 */
const selectTasks: Statement = {
  name: 'select_task_details',
  text: `SELECT ${TASK_DETAIL_COLUMNS} FROM tasks t WHERE t.id = ANY ((SELECT $1::text[])::text[])`,
};

export interface TaskReader {
  /**
   * Reads one task.
   *
   * @param accountId whose task it must be.
   * @throws {TaskNotFoundError} @throws {TaskPrunedError}
   */
  read(taskId: TaskId, accountId: string): Promise<TaskDetail>;
}

interface Read {
  readonly taskId: TaskId;
  readonly accountId: string;
  readonly resolve: (detail: TaskDetail | Promise<TaskDetail>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads of tasks that clients poll, together: those that arrive in the same turn of the event loop share one statement
 * (docs/decisions/0012 does the same for creates). A busy process spent more on sending each read to PostgreSQL by
 * itself, and on receiving its rows, than on everything else. A lone read waits for nothing, and no read waits for
 * another statement.
 */
export function createTaskReader(database: Queryable): TaskReader {
  let waiting: Read[] = [];

  const flush = (): void => {
    const all = waiting;
    waiting = [];
    for (let index = 0; index < all.length; index += MAX_TOGETHER) {
      const some = all.slice(index, index + MAX_TOGETHER);
      const [first] = some;
      if (some.length === 1 && first !== undefined) {
        first.resolve(readTask(database, first.taskId, first.accountId));
        continue;
      }
      readTogether(database, some).catch((error: unknown) => {
        for (const { reject } of some) reject(error);
      });
    }
  };

  return {
    read: (taskId, accountId) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ taskId, accountId, resolve, reject }) === 1) setImmediate(flush);
      }),
  };
}

async function readTogether(database: Queryable, reads: readonly Read[]): Promise<void> {
  const ids = [...new Set(reads.map(({ taskId }) => taskId))];
  const rows = await database.query<TaskRow>(selectTasks, [ids]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const { taskId, accountId, resolve } of reads) {
    const row = byId.get(taskId);
    resolve(row?.accountId === accountId ? detailOf(row) : rejectMissing(database, taskId, accountId));
  }
}

async function rejectMissing(database: Queryable, taskId: TaskId, accountId: string): Promise<never> {
  throw await missingTask(database, taskId, accountId);
}

/** There is no such task, or it is another account's: one error for both (contract §1). */
export class TaskNotFoundError extends DarkroomError {
  override readonly name: string = 'TaskNotFoundError';
  override readonly kind: 'not_found' | 'task_pruned' = 'not_found';

  constructor(message = 'there is no such task') {
    super(message);
  }
}

/** When a pruned task was created, ended and pruned. */
interface PrunedDates {
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

/** The object that contains a pruned task's record, one line for each task. */
interface ArchiveOfTask {
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
 * The error for a task whose row is missing: there is none, or it was pruned (docs/decisions/0026). Looked up only then,
 * so that reads of tasks cost nothing more.
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

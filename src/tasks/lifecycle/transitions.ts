/**
 * What the activities do to a task's row while they work on it: each step is one conditional update on a non-terminal
 * row, so that the second to arrive finds nothing to do (architecture, "PostgreSQL is the record that callers see").
 */
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { InputFault } from '@darkroom/api/facts/input-fault';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { TaskNotFoundError } from '../record/read.ts';
import { REQUEST_HASH } from '../record/fingerprint.ts';
import { withFreeSeq } from '../record/timeline.ts';
import { GENERATION_OF_TASK, readGeneration } from './generations.ts';
import type { Generation } from './generations.ts';

/** What an activity needs of the task it works on. */
export interface WorkingTask {
  readonly id: TaskId;
  readonly accountId: string;
  readonly keyId: string;
  readonly status: TaskStatus;
  readonly model: string;
  readonly route: string | null;
  readonly definitionHash: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly storage: 'temp' | 'persistent';
  readonly timeoutSeconds: number | null;
  readonly heldMicroUsd: bigint;
  /** What its price is multiplied by; null: it is not. */
  readonly priceFactor: string | null;
  readonly isCancelRequested: boolean;
  /** The deadline of the stage that has one at this moment, by the worker's steady clock: `performance.now()` plus what is left. */
  readonly deadlineAt: number | null;
  /** The same for archiving; null while it waits for its turn. */
  readonly archivingDeadlineAt: number | null;
  /** The end of handling in whole Unix seconds, by the database's clock: the same in every attempt. */
  readonly deadlineSeconds: number | null;
  /** Which key signs the URLs that its providers are given (objects/urls/url-keys.ts): the same in every attempt. */
  readonly urlKeyId: string | null;
  /** Distinguishes requests under one Idempotency-Key (record/fingerprint.ts); null without a key. */
  readonly requestHash: string | null;
}

interface WorkingRow extends Omit<WorkingTask, 'deadlineAt' | 'archivingDeadlineAt'> {
  readonly secondsLeft: number | null;
  readonly archivingSecondsLeft: number | null;
}

// The time left is computed by the database's clock: the worker's may be wrong.
const WORKING_COLUMNS = `id, account_id AS "accountId", key_id AS "keyId", status, model, route,
  definition_hash AS "definitionHash", coalesce(input, '{}') AS input, storage, timeout_seconds AS "timeoutSeconds",
  held_micro_usd AS "heldMicroUsd", price_factor AS "priceFactor", cancel_requested_at IS NOT NULL AS "isCancelRequested",
  ${REQUEST_HASH} AS "requestHash",
  floor(extract(epoch FROM deadline_at))::float8 AS "deadlineSeconds", url_key_id AS "urlKeyId",
  extract(epoch FROM deadline_at - now())::float8 AS "secondsLeft",
  extract(epoch FROM archiving_deadline_at - now())::float8 AS "archivingSecondsLeft"`;

const selectWorking: Statement = {
  name: 'select_working_task',
  text: `SELECT ${WORKING_COLUMNS} FROM tasks WHERE id = $1`,
};

const beginHandlingStatement: Statement = {
  name: 'begin_handling',
  text: `WITH begun AS (
           UPDATE tasks
              SET status = 'handling', started_at = now(), updated_at = now(), url_key_id = $3,
                  deadline_at = now() + make_interval(secs => least($2::float8, timeout_seconds))
            WHERE id = $1 AND status = 'queued'
        RETURNING *),
         event AS (
           INSERT INTO task_events (task_id, seq, type)
           SELECT b.id, (SELECT coalesce(max(e.seq), 0) + 1 FROM task_events e WHERE e.task_id = b.id), 'started'
             FROM begun b)
         SELECT ${WORKING_COLUMNS} FROM begun`,
};

/** A task on which a step has begun, and what is recorded of its generation. */
export interface BegunTask {
  readonly task: WorkingTask;
  readonly generation: Generation | undefined;
}

interface BegunRow extends WorkingRow {
  readonly generation: Generation | null;
}

/** Reads a task for an activity. @throws {TaskNotFoundError} the database has lost it under a running workflow. */
export async function readWorkingTask(database: Queryable, taskId: TaskId): Promise<WorkingTask> {
  const [row] = await database.query<WorkingRow>(selectWorking, [taskId]);
  if (row === undefined) throw new TaskNotFoundError();
  return withDeadlines(row);
}

/**
 * Moves a queued task to `handling`, which is when its deadline begins to run; one that is there already is only
 * read, with what was recorded of its generation.
 *
 * @param limitSeconds the model's own limit; the caller's `timeoutSeconds` can only shorten it.
 * @param urlKeyId the key that signs what its providers are given; absent where no provider will be given anything
 *   more.
 */
export async function beginHandling(
  database: Database,
  taskId: TaskId,
  limitSeconds: number,
  urlKeyId?: string,
): Promise<BegunTask> {
  const values = [taskId, limitSeconds, urlKeyId ?? null];
  const [row] = await withFreeSeq(() => database.query<WorkingRow>(beginHandlingStatement, values));
  // A task that was queued until now cannot have a generation.
  if (row !== undefined) return { task: withDeadlines(row), generation: undefined };
  return readBegunTask(database, taskId);
}

const beginArchivingStatement: Statement = {
  name: 'begin_archiving',
  text: `WITH begun AS (
           UPDATE tasks SET status = 'archiving', updated_at = now()
            WHERE id = $1 AND status = 'handling' AND cancel_requested_at IS NULL
        RETURNING *),
         event AS (
           INSERT INTO task_events (task_id, seq, type)
           SELECT b.id, (SELECT coalesce(max(e.seq), 0) + 1 FROM task_events e WHERE e.task_id = b.id), 'archiving'
             FROM begun b)
         SELECT ${WORKING_COLUMNS},
                (SELECT to_jsonb(g) FROM (${GENERATION_OF_TASK}) g) AS generation
           FROM begun`,
};

/**
 * Moves a handled task to `archiving`, where it may have to wait for its turn; one that is past that, or is to be
 * cancelled, is only read.
 */
export async function beginArchiving(database: Database, taskId: TaskId): Promise<BegunTask> {
  const [row] = await withFreeSeq(() => database.query<BegunRow>(beginArchivingStatement, [taskId]));
  if (row === undefined) return readBegunTask(database, taskId);
  const { generation, ...task } = row;
  return { task: withDeadlines(task), generation: generation ?? undefined };
}

async function readBegunTask(database: Database, taskId: TaskId): Promise<BegunTask> {
  const task = await readWorkingTask(database, taskId);
  return { task, generation: await readGeneration(database, taskId) };
}

const startArchivingStatement: Statement = {
  name: 'start_archiving',
  text: `UPDATE tasks SET updated_at = now(), archiving_deadline_at = now() + make_interval(secs => $2)
          WHERE id = $1 AND status = 'archiving' AND archiving_deadline_at IS NULL
      RETURNING ${WORKING_COLUMNS}`,
};

/** Begins a task's turn to be archived: its deadline begins to run, unless it runs already. */
export async function startArchiving(database: Database, taskId: TaskId, limitSeconds: number): Promise<WorkingTask> {
  const [row] = await database.query<WorkingRow>(startArchivingStatement, [taskId, limitSeconds]);
  return row === undefined ? readWorkingTask(database, taskId) : withDeadlines(row);
}

const pauseArchivingStatement: Statement = {
  name: 'pause_archiving',
  text: `UPDATE tasks SET updated_at = now(), archiving_deadline_at = NULL
          WHERE id = $1 AND status = 'archiving' AND archiving_deadline_at IS NOT NULL`,
};

/** A task that is being archived has to wait for another turn, and then has its full time again. */
export async function pauseArchiving(database: Database, taskId: TaskId): Promise<void> {
  await database.query(pauseArchivingStatement, [taskId]);
}

function withDeadlines({ secondsLeft, archivingSecondsLeft, ...row }: WorkingRow): WorkingTask {
  const at = (seconds: number | null): number | null => (seconds === null ? null : performance.now() + seconds * 1000);
  return { ...row, deadlineAt: at(secondsLeft), archivingDeadlineAt: at(archivingSecondsLeft) };
}

const recordFaultStatement: Statement = {
  name: 'record_input_fault',
  text: 'UPDATE tasks SET error_field = $2, error_case = $3 WHERE id = $1 AND completed_at IS NULL',
};

/** Records what is wrong with the input of a task that is about to fail for it. */
export async function recordFault(database: Queryable, taskId: TaskId, { kind, field }: InputFault): Promise<void> {
  await database.query(recordFaultStatement, [taskId, field ?? null, kind]);
}

/**
 * The records of stored outputs: written, read, deleted and expired. An object is readable exactly while a row here
 * names its key: rows are written by the settling transaction, so a half-archived task shows nothing. The bytes of what
 * is gone follow within minutes (sweep.ts).
 */
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { ArchivedOutput } from '../../domain/run-record.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { newId } from '../../domain/ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

/** SQL for the end of an output's retention: readers see whole seconds, and decide by them (presenters/task.ts). */
export const RETENTION_END = `date_trunc('second', retain_until)`;

const insertOutputs: Statement = {
  name: 'insert_outputs',
  text: `WITH stored AS (
           INSERT INTO outputs (id, task_id, account_id, model, position, type, object_key, mime_type, size_bytes, sha256,
                                width, height, duration_seconds, storage_tier, retain_until)
           SELECT o.id, o."taskId", $1, o.model, o.position, o.type, o."objectKey", o."mimeType", o."sizeBytes", o.sha256,
                  o.width, o.height, o."durationSeconds", o.storage,
                  CASE WHEN o.storage = 'temp' THEN now() + make_interval(days => $2) END
             FROM jsonb_to_recordset($3::jsonb) AS o (id text, "taskId" text, model text, storage text, position integer,
                  type text, "objectKey" text, "mimeType" text, "sizeBytes" bigint, sha256 text, width integer,
                  height integer, "durationSeconds" double precision)
        RETURNING id, account_id, size_bytes, created_at, storage_tier)
         INSERT INTO storage_periods (output_id, account_id, size_bytes, began_at)
         SELECT id, account_id, size_bytes, created_at FROM stored WHERE storage_tier = 'persistent'`,
};

/** A task with the outputs that it ends with. */
export interface TaskWithOutputs {
  readonly taskId: TaskId;
  readonly model: string;
  readonly storage: 'temp' | 'persistent';
  readonly outputs: readonly ArchivedOutput[];
}

/**
 * Writes the rows of the outputs of tasks of one account, in order. Temporary ones are kept `retentionDays` from now
 * (spec §2.6).
 */
export async function insertTaskOutputs(
  transaction: Queryable,
  accountId: string,
  tasks: readonly TaskWithOutputs[],
  retentionDays: number,
): Promise<void> {
  const rows = tasks.flatMap(({ outputs, ...task }) =>
    outputs.map((output, position) => ({ ...task, ...output, id: newId('out'), position })),
  );
  await transaction.query(insertOutputs, [accountId, retentionDays, JSON.stringify(rows)]);
}

/** What serving an output's bytes needs. */
export interface ServableOutput {
  readonly taskId: TaskId;
  readonly position: number;
  readonly objectKey: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** The output was deleted, its retention passed, or it never existed: all the same to a reader. */
export class OutputNotFoundError extends DarkroomError {
  override readonly name = 'OutputNotFoundError';
  override readonly kind = 'not_found';

  constructor() {
    super('there is no such output, or it is gone already');
  }
}

const selectServable: Statement = {
  name: 'select_servable_output',
  text: `SELECT task_id AS "taskId", position, object_key AS "objectKey", mime_type AS "mimeType", size_bytes::float8 AS "sizeBytes", sha256
           FROM outputs WHERE id = $1 AND gone_at IS NULL`,
};

/** @throws {OutputNotFoundError} */
export async function readServableOutput(database: Queryable, outputId: string): Promise<ServableOutput> {
  const [row] = await database.query<ServableOutput>(selectServable, [outputId]);
  if (row === undefined) throw new OutputNotFoundError();
  return row;
}

/**
 * Removes outputs from their readers by decision of their owner or an operator, or by their task's erasure (contract
 * §4, §5), at once and for good. What an output occupied of its account's persistent storage, or had reserved for its
 * promotion, is released in the same statement. The account's counters come last: from there to the commit all its
 * creates and settlements wait.
 */
const deleteStatement: Statement = {
  name: 'delete_outputs',
  text: `WITH chosen AS (
           SELECT id, storage_tier = 'persistent' OR pending_since IS NOT NULL AS is_counted
             FROM outputs
            WHERE (id = ANY ($1) OR task_id = $2) AND ($3::text IS NULL OR account_id = $3) AND gone_at IS NULL
            ORDER BY id FOR UPDATE),
         deleted AS (
           UPDATE outputs o SET gone_at = $4, gone_reason = 'deleted', pending_since = NULL
             FROM chosen c WHERE o.id = c.id
        RETURNING o.id, o.account_id, o.size_bytes, o.object_key, c.is_counted),
         ended AS (
           UPDATE storage_periods SET ended_at = greatest($4, began_at)
            WHERE output_id IN (SELECT id FROM deleted) AND ended_at IS NULL),
         given_back AS (
           UPDATE account_counters c SET persistent_bytes = c.persistent_bytes - d.size_bytes
             FROM (SELECT account_id, sum(size_bytes) AS size_bytes FROM deleted WHERE is_counted GROUP BY account_id) d
            WHERE c.account_id = d.account_id)
         SELECT object_key AS "objectKey" FROM deleted`,
};

/**
 * A statement of its own, before the one that deletes: where a promotion or another deletion commits while this
 * waits, the next statement sees all of it, its storage period included.
 */
const lockToDelete: Statement = {
  name: 'lock_outputs_to_delete',
  text: 'SELECT 1 FROM outputs WHERE id = ANY ($1) OR task_id = $2 ORDER BY id FOR UPDATE',
};

/**
 * Deletes outputs of an account; those that are gone already stay as they are. The caller has locked them, by a
 * statement before (lockOutputs), for the reason given at `lockToDelete`.
 *
 * @param now milliseconds since 1970.
 */
export async function deleteAccountOutputs(
  transaction: Queryable,
  accountId: string,
  outputIds: readonly string[],
  now: number,
): Promise<void> {
  await transaction.query(deleteStatement, [outputIds, null, accountId, new Date(now)]);
}

/**
 * Deletes all outputs of a task: its erasure (contract §4).
 *
 * @param now milliseconds since 1970; default: the database's.
 */
export async function deleteOutputsOfTask(
  transaction: Queryable,
  accountId: string,
  taskId: TaskId,
  now?: number,
): Promise<void> {
  await transaction.query(lockToDelete, [[], taskId]);
  const deletedAt = new Date(now ?? (await readDatabaseTime(transaction)));
  await transaction.query(deleteStatement, [[], taskId, accountId, deletedAt]);
}

/**
 * Deletes an output of any account: an operator's decision. Its bytes may be deleted by the caller, and are by the
 * sweep.
 *
 * @returns the object's key. @throws {OutputNotFoundError}
 */
export async function markOutputDeleted(database: Database, outputId: string): Promise<string> {
  return database.transaction(async (transaction) => {
    await transaction.query(lockToDelete, [[outputId], null]);
    const deletedAt = new Date(await readDatabaseTime(transaction));
    const values = [[outputId], null, null, deletedAt];
    const [row] = await transaction.query<{ objectKey: string }>(deleteStatement, values);
    if (row === undefined) throw new OutputNotFoundError();
    return row.objectKey;
  });
}

/** Where an output's bytes are stored, and what they are. */
interface OutputObject {
  readonly id: string;
  readonly accountId: string;
  readonly objectKey: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly durationSeconds: number | null;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly isGone: boolean;
}

const selectObjects: Statement = {
  name: 'select_output_objects',
  text: `SELECT id, account_id AS "accountId", object_key AS "objectKey", mime_type AS "mimeType",
                size_bytes::float8 AS "sizeBytes", duration_seconds::float8 AS "durationSeconds", sha256,
                gone_at IS NOT NULL AS "isGone"
           FROM outputs WHERE id = ANY($1)`,
};

/** The objects of the outputs of these ids, of any account, and gone or not; unknown ids are missing. */
export async function findOutputObjects(database: Queryable, ids: readonly string[]): Promise<readonly OutputObject[]> {
  return ids.length === 0 ? [] : database.query<OutputObject>(selectObjects, [ids]);
}

/** A pending output is left to its promotion, which has bytes reserved. */
const expireStatement: Statement = {
  name: 'expire_outputs',
  text: `UPDATE outputs SET gone_at = retain_until, gone_reason = 'expired'
          WHERE id IN (SELECT id FROM outputs
                        WHERE retain_until <= $1 AND gone_at IS NULL AND pending_since IS NULL
                        ORDER BY retain_until LIMIT $2 FOR UPDATE SKIP LOCKED)
          RETURNING id`,
};

/**
 * Records that the retention of outputs ended (contract §5, §3 `outputGone`). Readers see them as gone from
 * `retain_until` on; a download URL that was signed in the last moment before works until its end, which is what the
 * grace is for ("no URL dies before its `expireAt`").
 *
 * @param now milliseconds since 1970. @param urlGraceSeconds the longest life of a URL.
 * @returns how many, at most `limit`.
 */
export async function expireOutputs(
  database: Queryable,
  options: { readonly now: number; readonly urlGraceSeconds: number; readonly limit: number },
): Promise<number> {
  const before = new Date(options.now - options.urlGraceSeconds * 1000);
  const rows = await database.query(expireStatement, [before, options.limit]);
  return rows.length;
}

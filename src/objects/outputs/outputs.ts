/**
 * The records of stored outputs. An object is readable exactly while a row here names its key: rows are written by the
 * settling transaction, so a half-archived task shows nothing.
 */
import { newId } from '../../domain/ids.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { deleteAnyOutput } from './deletion.ts';
import type { ArchivedOutput } from '../../domain/archived-output.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

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
 * Removes an output from its readers. Its bytes may be deleted by the caller, and are by the sweep.
 *
 * @returns the object's key. @throws {OutputNotFoundError}
 */
export async function markOutputDeleted(database: Database, outputId: string): Promise<string> {
  const objectKey = await deleteAnyOutput(database, outputId);
  if (objectKey === undefined) throw new OutputNotFoundError();
  return objectKey;
}

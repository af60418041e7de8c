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
           SELECT o.id, $1, $2, $6, o.position, o.type, o."objectKey", o."mimeType", o."sizeBytes", o.sha256, o.width,
                  o.height, o."durationSeconds", $3,
                  CASE WHEN $3 = 'temp' THEN now() + make_interval(days => $4) END
             FROM jsonb_to_recordset($5::jsonb) AS o (id text, position integer, type text, "objectKey" text,
                  "mimeType" text, "sizeBytes" bigint, sha256 text, width integer, height integer,
                  "durationSeconds" double precision)
        RETURNING id, account_id, size_bytes, created_at, storage_tier)
         INSERT INTO storage_periods (output_id, account_id, size_bytes, began_at)
         SELECT id, account_id, size_bytes, created_at FROM stored WHERE storage_tier = 'persistent'`,
};

/** Writes the rows of a task's outputs, in order. Temporary ones are kept `retentionDays` from now (spec §2.6). */
export async function insertTaskOutputs(
  transaction: Queryable,
  task: {
    readonly taskId: TaskId;
    readonly accountId: string;
    readonly model: string;
    readonly storage: 'temp' | 'persistent';
  },
  outputs: readonly ArchivedOutput[],
  retentionDays: number,
): Promise<void> {
  const rows = outputs.map((output, position) => ({ ...output, id: newId('out'), position }));
  await transaction.query(insertOutputs, [
    task.taskId,
    task.accountId,
    task.storage,
    retentionDays,
    JSON.stringify(rows),
    task.model,
  ]);
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

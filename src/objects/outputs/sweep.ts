/**
 * Which objects of the store may be deleted: the bytes of outputs and uploads that are gone, and objects that no record
 * names, left behind by failed attempts (architecture, "Archiving really copies") and by passes that prune. Separate
 * from the records of either, because it has to know every table that names objects.
 */
import type { Queryable, Statement } from '../../database/database.ts';

/** An object whose output or upload is gone. */
export interface DoomedObject {
  readonly source: 'output' | 'file';
  readonly id: string;
  readonly objectKey: string;
}

/** An open task that refers to an object keeps its bytes (contract §7 "pinned until the task is terminal"). */
const IS_PINNED = `EXISTS (SELECT 1 FROM task_inputs i JOIN tasks t ON t.id = i.task_id
                            WHERE i.object_key = g.object_key AND t.completed_at IS NULL)`;

/** A batch that has not ended reads its input file. */
const IS_READ_BY_BATCH = `EXISTS (SELECT 1 FROM batches b WHERE b.input_object_key = g.object_key AND b.ended_at IS NULL)`;

/** One that could not be deleted waits for its retry, so that those behind it have their turn. */
const IS_HELD_BACK = `EXISTS (SELECT 1 FROM failing_items f
                               WHERE f.kind = 'object' AND f.subject_id = g.object_key AND f.retry_at > now())`;

const selectDoomed: Statement = {
  name: 'select_doomed_objects',
  text: `(SELECT 'output' AS source, g.id, g.object_key AS "objectKey" FROM outputs g
           WHERE g.gone_at <= $1 AND g.bytes_deleted_at IS NULL AND NOT ${IS_PINNED} AND NOT ${IS_HELD_BACK}
             AND NOT EXISTS (SELECT 1 FROM outputs k WHERE k.object_key = g.object_key AND k.gone_at IS NULL)
           ORDER BY g.gone_at LIMIT $2)
         UNION ALL
         (SELECT 'file', g.id, g.object_key FROM files g
           WHERE g.gone_at <= $1 AND g.bytes_deleted_at IS NULL AND NOT ${IS_PINNED} AND NOT ${IS_HELD_BACK}
             AND NOT ${IS_READ_BY_BATCH}
           ORDER BY g.gone_at LIMIT $2)`,
};

/**
 * Objects whose records are gone since a moment or longer.
 *
 * @param before milliseconds.
 * @returns at most 2 × `limit`.
 */
export async function listDoomedObjects(
  database: Queryable,
  before: number,
  limit: number,
): Promise<readonly DoomedObject[]> {
  return database.query<DoomedObject>(selectDoomed, [new Date(before), limit]);
}

const markOutputs: Statement = {
  name: 'mark_output_bytes_deleted',
  text: `UPDATE outputs SET bytes_deleted_at = $2
          WHERE id IN (SELECT id FROM outputs WHERE id = ANY ($1) AND bytes_deleted_at IS NULL FOR UPDATE SKIP LOCKED)
      RETURNING id`,
};
const markFiles: Statement = {
  name: 'mark_file_bytes_deleted',
  text: `UPDATE files SET bytes_deleted_at = $2
          WHERE id IN (SELECT id FROM files WHERE id = ANY ($1) AND bytes_deleted_at IS NULL FOR UPDATE SKIP LOCKED)
      RETURNING id`,
};

/**
 * Records that the bytes are physically gone. A record that another process holds locked is left to a later pass,
 * which repeats the deletion of what no longer exists.
 *
 * @param now milliseconds since 1970. @returns how many were recorded.
 */
export async function markBytesDeleted(
  database: Queryable,
  objects: readonly DoomedObject[],
  now: number,
): Promise<number> {
  const idsOf = (source: DoomedObject['source']): string[] =>
    objects.filter((object) => object.source === source).map((object) => object.id);
  const outputs = await database.query(markOutputs, [idsOf('output'), new Date(now)]);
  const files = await database.query(markFiles, [idsOf('file'), new Date(now)]);
  return outputs.length + files.length;
}

/**
 * The forms of key that attempts, uploads and exports use (src/generation/stage-files.ts, src/objects/uploads.ts,
 * src/objects/archive.ts), and nothing else.
 */
const OUR_KEY =
  /^(?:outputs\/[0-9A-Z]{2}\/tk-svc-[0-9A-HJKMNP-TV-Z]{26}-(?:generated|archived)-[\w-]+|files\/[0-9A-Z]{2}\/file_[\w-]+|archive\/(?:tasks\/[\w-]+|text-calls)\/\d{4}-\d{2}\/[\w-]+\.ndjson\.gz)$/;

/** Whether a key is one that this program makes: anything else in the store belongs to another program. */
export function isOurKey(key: string): boolean {
  return OUR_KEY.test(key);
}

const selectUnnamed: Statement = {
  name: 'select_unnamed_objects',
  text: `SELECT g.object_key AS key FROM unnest($1::text[]) AS g (object_key)
          WHERE NOT EXISTS (SELECT 1 FROM outputs o WHERE o.object_key = g.object_key AND o.bytes_deleted_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM files f WHERE f.object_key = g.object_key AND f.bytes_deleted_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM task_archives a WHERE a.object_key = g.object_key)
            AND NOT EXISTS (SELECT 1 FROM text_call_archives a WHERE a.object_key = g.object_key)
            AND NOT EXISTS (SELECT 1 FROM tasks t
                             WHERE t.id = substring(g.object_key FROM 'tk-svc-[0-9A-HJKMNP-TV-Z]{26}')
                               AND t.completed_at IS NULL)
            AND NOT ${IS_PINNED}`,
};

/**
 * Those of the keys that no output, no upload, no archive and no open task names. An attempt's key contains its task's
 * id, by which its files are known to be in use before a record names them, and until the task is settled.
 */
export async function listUnnamedKeys(database: Queryable, keys: readonly string[]): Promise<readonly string[]> {
  const rows = await database.query<{ key: string }>(selectUnnamed, [keys]);
  return rows.map((row) => row.key);
}

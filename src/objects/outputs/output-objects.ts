/**
 * From outputs' ids to the objects behind them, for inputs that refer to them: of any account, and gone or not.
 */
import type { Queryable, Statement } from '../../database/database.ts';

/** Where an output's bytes are stored, and what they are. */
export interface OutputObject {
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

/** The objects of the outputs of these ids; unknown ids are missing. */
export async function findOutputObjects(database: Queryable, ids: readonly string[]): Promise<readonly OutputObject[]> {
  return ids.length === 0 ? [] : database.query<OutputObject>(selectObjects, [ids]);
}

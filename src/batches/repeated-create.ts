/**
 * Automatic retries of clients that create a batch (contract §10). As for tasks (docs/decisions/0047), only a header
 * says that a request is one; a batch has its input file to be recognised by.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { NewBatch } from './batch-record.ts';

/** A retry comes soon after the attempt before it. */
const RETRY_SECONDS = 600;

const selectRepeated: Statement = {
  name: 'select_repeated_batch',
  text: `SELECT id FROM batches
          WHERE account_id = $1 AND key_id = $2 AND input_file_id = $3 AND endpoint = $4 AND completion_window = $5
            AND metadata IS NOT DISTINCT FROM $6::jsonb AND output_kept_seconds = $7
            AND created_at > to_timestamp($8::float8)
          ORDER BY created_at DESC, id DESC LIMIT 1`,
};

/**
 * Call it where no other request of the account creates a batch.
 *
 * @param now milliseconds since 1970.
 * @returns the id of the newest batch of an equal request of the same key, if there is one.
 */
export async function findRepeated(database: Queryable, batch: NewBatch, now: number): Promise<string | undefined> {
  const [repeated] = await database.query<{ id: string }>(selectRepeated, [
    batch.accountId,
    batch.keyId,
    batch.inputFileId,
    batch.endpoint,
    batch.completionWindow,
    batch.metadata === null ? null : JSON.stringify(batch.metadata),
    batch.outputKeptSeconds,
    now / 1000 - RETRY_SECONDS,
  ]);
  return repeated?.id;
}

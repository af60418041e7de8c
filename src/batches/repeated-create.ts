/**
 * Repeated requests that create a batch (contract §10). With an Idempotency-Key, its batch is found by its id. Of an
 * automatic retry of OpenAI's clients, as for tasks (docs/decisions/0009), only a header says that it is one; a batch
 * has its input file to be recognised by.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { BatchRequest } from './batch-record.ts';

const selectKeyed: Statement = {
  name: 'select_keyed_batch',
  text: `SELECT input_file_id = $3 AND endpoint = $4 AND completion_window = $5
                AND metadata IS NOT DISTINCT FROM $6::jsonb AND output_kept_seconds = $7 AS "isSame"
           FROM batches WHERE id = $1 AND account_id = $2`,
};

/** @returns whether the batch with this id was created by an equal request; undefined: there is no such batch. */
export async function compareKeyed(
  database: Queryable,
  id: string,
  request: BatchRequest,
): Promise<boolean | undefined> {
  const [keyed] = await database.query<{ isSame: boolean }>(selectKeyed, [
    id,
    request.accountId,
    ...requestOf(request),
  ]);
  return keyed?.isSame;
}

/** What two equal requests have in common. */
function requestOf(request: BatchRequest): readonly (string | number | null)[] {
  return [
    request.inputFileId,
    request.endpoint,
    request.completionWindow,
    request.metadata === null ? null : JSON.stringify(request.metadata),
    request.outputKeptSeconds,
  ];
}

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
export async function findRepeated(
  database: Queryable,
  request: BatchRequest,
  now: number,
): Promise<string | undefined> {
  const [repeated] = await database.query<{ id: string }>(selectRepeated, [
    request.accountId,
    request.keyId,
    ...requestOf(request),
    now / 1000 - RETRY_SECONDS,
  ]);
  return repeated?.id;
}

/**
 * Creates batches (contract §10), each request once. With an Idempotency-Key, its batch is found by its id. Of an
 * automatic retry of OpenAI's clients, as for tasks (docs/decisions/0009), only a header says that it is one; a batch
 * has its input file to be recognised by.
 */
import { COMPLETION_WINDOW_SECONDS } from '@darkroom/api/openai/batches';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { newId } from '../domain/ids.ts';
import { IdempotencyMismatchError } from '../tasks/create/used-keys.ts';
import { BATCH_COLUMNS, readBatch } from './batch-record.ts';
import type { Batch } from './batch-record.ts';

/** The maximum number of batches of an account that have not ended. */
const MAX_OPEN_BATCHES = 100;
/** `Retry-After` beyond it: batches take minutes to hours. */
const RETRY_BATCH_SECONDS = 60;

/** The account has as many batches in progress as it may. */
export class BatchesFullError extends DarkroomError {
  override readonly name = 'BatchesFullError';
  override readonly kind = 'rate_limited';
  override readonly retryAfterSeconds = RETRY_BATCH_SECONDS;

  constructor() {
    super(`this account has ${MAX_OPEN_BATCHES} batches in progress, which is all it may; wait until one has ended`);
  }
}

const lockBatches: Statement = {
  name: 'lock_batches',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('batches:' || $1::text, 0))`,
};
const countOpen: Statement = {
  name: 'count_open_batches',
  text: 'SELECT count(*)::integer AS open FROM batches WHERE account_id = $1 AND ended_at IS NULL',
};
const insertBatch: Statement = {
  name: 'insert_batch',
  text: `INSERT INTO batches (id, account_id, key_id, endpoint, completion_window, metadata, input_file_id,
                              input_object_key, input_bytes, output_kept_seconds, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, to_timestamp($11::float8), to_timestamp($12::float8))
         RETURNING ${BATCH_COLUMNS}`,
};

/** What a client asks for. */
export type BatchRequest = Pick<
  Batch,
  'accountId' | 'keyId' | 'endpoint' | 'completionWindow' | 'metadata' | 'inputFileId' | 'outputKeptSeconds'
>;
type NewBatch = BatchRequest & Pick<Batch, 'inputObjectKey' | 'inputBytes'>;

/** How an attempt before this request is recognised. */
interface BatchRepetition {
  /** The id that follows from the Idempotency-Key of the request; undefined: it has none. */
  readonly keyedId: string | undefined;
  /** Whether it is an automatic retry, which counts without a key alone. */
  readonly isRetry: boolean;
}

/**
 * Records a batch, which is due at once.
 *
 * @param now milliseconds since 1970.
 * @throws {BatchesFullError} @throws {IdempotencyMismatchError}
 */
export async function createBatch(
  database: Database,
  batch: NewBatch,
  now: number,
  repetition: BatchRepetition,
): Promise<Batch> {
  const { accountId } = batch;
  return database.transaction(async (transaction) => {
    // One after another, so that together they cannot pass the limit.
    await transaction.query(lockBatches, [accountId]);
    const earlier = await findEarlier(transaction, batch, now, repetition);
    if (earlier !== undefined) return earlier;
    const [count] = await transaction.query<{ open: number }>(countOpen, [accountId]);
    if ((count?.open ?? 0) >= MAX_OPEN_BATCHES) throw new BatchesFullError();
    const id = repetition.keyedId ?? newId('batch');
    const createdAt = now / 1000;
    const [created] = await transaction.query<Batch>(insertBatch, [
      id,
      accountId,
      batch.keyId,
      batch.endpoint,
      batch.completionWindow,
      batch.metadata === null ? null : JSON.stringify(batch.metadata),
      batch.inputFileId,
      batch.inputObjectKey,
      batch.inputBytes,
      batch.outputKeptSeconds,
      createdAt,
      Math.floor(createdAt) + COMPLETION_WINDOW_SECONDS,
    ]);
    if (created === undefined) throw new Error('a batch was not inserted');
    return created;
  });
}

/** @returns the batch with this id, if an equal request has created it. @throws {IdempotencyMismatchError} */
export async function findKeyedBatch(
  database: Queryable,
  keyedId: string,
  request: BatchRequest,
): Promise<Batch | undefined> {
  const isSame = await compareKeyed(database, keyedId, request);
  if (isSame === false) throw new IdempotencyMismatchError();
  return isSame === undefined ? undefined : readBatch(database, keyedId, request.accountId);
}

/** The batch that an attempt before has created. */
async function findEarlier(
  transaction: Queryable,
  batch: NewBatch,
  now: number,
  { keyedId, isRetry }: BatchRepetition,
): Promise<Batch | undefined> {
  if (keyedId !== undefined) return findKeyedBatch(transaction, keyedId, batch);
  const repeated = isRetry ? await findRepeated(transaction, batch, now) : undefined;
  return repeated === undefined ? undefined : readBatch(transaction, repeated, batch.accountId);
}

const selectKeyed: Statement = {
  name: 'select_keyed_batch',
  text: `SELECT input_file_id = $3 AND endpoint = $4 AND completion_window = $5
                AND metadata IS NOT DISTINCT FROM $6::jsonb AND output_kept_seconds = $7 AS "isSame"
           FROM batches WHERE id = $1 AND account_id = $2`,
};

/** @returns whether the batch with this id was created by an equal request; undefined: there is no such batch. */
async function compareKeyed(database: Queryable, id: string, request: BatchRequest): Promise<boolean | undefined> {
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
async function findRepeated(database: Queryable, request: BatchRequest, now: number): Promise<string | undefined> {
  const [repeated] = await database.query<{ id: string }>(selectRepeated, [
    request.accountId,
    request.keyId,
    ...requestOf(request),
    now / 1000 - RETRY_SECONDS,
  ]);
  return repeated?.id;
}

/**
 * The rows of batches (contract §10): reading, listing and cancelling them, which process works on which, and how long
 * they are kept.
 */
import type { BatchEndpoint, BatchProblem, BatchStatus, WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { KEYED_BATCH_PREFIX } from '../domain/ids.ts';
import type { Backlog, OpenBatches } from '../telemetry/metrics-service.ts';

const BATCH_ID = /^batch_[0-9A-HJKMNP-TV-Z]{26}$/;

/** A batch. Times are Unix seconds. */
export interface Batch {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly endpoint: BatchEndpoint;
  readonly completionWindow: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly inputFileId: string;
  readonly inputObjectKey: string;
  readonly inputBytes: number;
  readonly outputKeptSeconds: number;
  readonly status: BatchStatus;
  /** Why it fails as a whole; it may have lines in progress then. */
  readonly problems: readonly BatchProblem[] | null;
  /** Why some of its lines wait at this moment. */
  readonly waitingFor: WaitReason | null;
  /** The model that all lines name. */
  readonly model: string | null;
  readonly linesTotal: number;
  readonly linesFed: number;
  /** Where the next line begins in the input. */
  readonly fedBytes: number;
  readonly linesSettled: number;
  readonly linesCompleted: number;
  readonly linesFailed: number;
  /** Lines that have ended before one that was fed earlier. */
  readonly aheadCompleted: number;
  readonly aheadFailed: number;
  /** The tokens of the settled lines that a text model has answered. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly outputFileId: string | null;
  readonly errorFileId: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly inProgressAt: number | null;
  readonly finalizingAt: number | null;
  readonly cancellingAt: number | null;
  readonly endedAt: number | null;
}

/** There is no such batch, or it is another account's. */
export class BatchNotFoundError extends DarkroomError {
  override readonly name = 'BatchNotFoundError';
  override readonly kind = 'not_found';
}

/** The batch has ended, or its files are being written. */
export class BatchEndedError extends DarkroomError {
  override readonly name = 'BatchEndedError';
  override readonly kind = 'invalid_request';

  constructor({ id, status }: Pick<Batch, 'id' | 'status'>) {
    super(`invalid request: the batch ${id} is ${status} and can no longer be cancelled`);
  }
}

const seconds = (column: string, name: string): string => `extract(epoch FROM ${column})::float8 AS "${name}"`;

/** The columns of a batch, for statements that return one. */
export const BATCH_COLUMNS = `id, account_id AS "accountId", key_id AS "keyId", endpoint, completion_window AS "completionWindow",
  metadata, model, input_file_id AS "inputFileId", input_object_key AS "inputObjectKey", input_bytes::float8 AS "inputBytes",
  output_kept_seconds AS "outputKeptSeconds", status, problems, waiting_for AS "waitingFor", lines_total AS "linesTotal", lines_fed AS "linesFed",
  fed_bytes::float8 AS "fedBytes", lines_settled AS "linesSettled", lines_completed AS "linesCompleted",
  lines_failed AS "linesFailed", ahead_completed AS "aheadCompleted", ahead_failed AS "aheadFailed",
  input_tokens::float8 AS "inputTokens", cached_input_tokens::float8 AS "cachedInputTokens",
  output_tokens::float8 AS "outputTokens", reasoning_tokens::float8 AS "reasoningTokens", output_file_id AS "outputFileId", error_file_id AS "errorFileId",
  ${seconds('created_at', 'createdAt')}, ${seconds('expires_at', 'expiresAt')},
  ${seconds('in_progress_at', 'inProgressAt')}, ${seconds('finalizing_at', 'finalizingAt')},
  ${seconds('cancelling_at', 'cancellingAt')}, ${seconds('ended_at', 'endedAt')}`;

const selectBatch: Statement = {
  name: 'select_batch',
  text: `SELECT ${BATCH_COLUMNS} FROM batches WHERE id = $1 AND ($2::text IS NULL OR account_id = $2)`,
};

/** @param accountId whose batch it must be; undefined for our own processes. @throws {BatchNotFoundError} */
export async function readBatch(database: Queryable, id: string, accountId?: string): Promise<Batch> {
  const [batch] = BATCH_ID.test(id) ? await database.query<Batch>(selectBatch, [id, accountId ?? null]) : [];
  if (batch === undefined) throw new BatchNotFoundError();
  return batch;
}

const listBatchRows: Statement = {
  name: 'list_batches',
  text: `SELECT ${BATCH_COLUMNS} FROM batches
          WHERE account_id = $1
            AND ($2::text IS NULL
                 OR (created_at, id) < ((SELECT created_at FROM batches WHERE id = $2 AND account_id = $1), $2))
          ORDER BY created_at DESC, id DESC LIMIT $3`,
};

/** @returns the newest first. */
export async function listBatches(
  database: Queryable,
  accountId: string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly batches: readonly Batch[]; readonly hasMore: boolean }> {
  if (after !== undefined) await readBatch(database, after, accountId);
  const rows = await database.query<Batch>(listBatchRows, [accountId, after ?? null, limit + 1]);
  return { batches: rows.slice(0, limit), hasMore: rows.length > limit };
}

const cancel: Statement = {
  name: 'cancel_batch',
  text: `UPDATE batches SET status = 'cancelling', cancelling_at = now(), waiting_for = NULL
          WHERE id = $1 AND account_id = $2 AND status IN ('validating', 'in_progress')`,
};

/** Whoever works on it finds the status. Cancelling twice is cancelling once. @throws {BatchEndedError} */
export async function cancelBatch(database: Queryable, id: string, accountId: string): Promise<Batch> {
  await readBatch(database, id, accountId);
  await database.query(cancel, [id, accountId]);
  const batch = await readBatch(database, id, accountId);
  if (batch.status !== 'cancelling' && batch.status !== 'cancelled') throw new BatchEndedError(batch);
  return batch;
}

/** How long a claimed batch is left to the process that has claimed it, unless that renews the claim. */
const BATCH_LEASE_SECONDS = 30;

/** Accounts take turns; each batch that is worked on is put off, so that the others of its account have theirs. */
const claimDue: Statement = {
  name: 'claim_due_batches',
  text: `WITH due AS (
           SELECT id, due_at, row_number() OVER (PARTITION BY account_id ORDER BY due_at, id) AS turn FROM batches
            WHERE ended_at IS NULL AND due_at <= now() AND id <> ALL ($1::text[]) AND account_id <> ALL ($2::text[])),
         taken AS (
           SELECT b.id FROM due d JOIN batches b ON b.id = d.id AND b.ended_at IS NULL AND b.due_at <= now()
            ORDER BY d.turn, d.due_at LIMIT $3 FOR NO KEY UPDATE OF b SKIP LOCKED)
         UPDATE batches b SET due_at = now() + make_interval(secs => ${BATCH_LEASE_SECONDS}) FROM taken t WHERE b.id = t.id
        RETURNING b.id, b.account_id AS "accountId"`,
};

/** Claims batches that are due, for the length of a lease. */
export async function claimDueBatches(
  database: Queryable,
  without: { readonly rows: readonly string[]; readonly accounts: readonly string[] },
  limit: number,
): Promise<readonly Pick<Batch, 'id' | 'accountId'>[]> {
  return database.query(claimDue, [without.rows, without.accounts, limit]);
}

const postpone: Statement = {
  name: 'postpone_batch',
  text: `UPDATE batches SET due_at = now() + make_interval(secs => $2::float8 / 1000)
          WHERE id = $1 AND ended_at IS NULL`,
};

/** Ends a lease: nothing is done to the batch for so many milliseconds. */
export async function postponeBatch(database: Queryable, id: string, ms: number): Promise<void> {
  await database.query(postpone, [id, ms]);
}

const renewLeases: Statement = {
  name: 'renew_batch_leases',
  text: `UPDATE batches SET due_at = now() + make_interval(secs => ${BATCH_LEASE_SECONDS})
          WHERE id = ANY ($1::text[]) AND ended_at IS NULL AND due_at > now() + interval '5 seconds'`,
};

/** Renews leases. One that is about to end is left, as is a batch that has just been postponed. */
export async function renewBatchLeases(database: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await database.query(renewLeases, [ids]);
}

/** Rows of a partial index. */
const selectOpen: Statement = {
  name: 'select_open_batches',
  text: `SELECT status, count(*)::integer AS count,
                greatest(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
           FROM batches WHERE ended_at IS NULL GROUP BY status`,
};

type OpenBatchesRow = Backlog & { readonly status: keyof OpenBatches };

/** For the metrics: how many batches have not ended, by their status, and for how long the oldest has been open. */
export async function readOpenBatches(database: Queryable): Promise<OpenBatches> {
  const rows = await database.query<OpenBatchesRow>(selectOpen);
  const of = (status: OpenBatchesRow['status']): Backlog => {
    const row = rows.find((each) => each.status === status);
    return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
  };
  return {
    validating: of('validating'),
    in_progress: of('in_progress'),
    cancelling: of('cancelling'),
    finalizing: of('finalizing'),
  };
}

/** How long a batch is listed after its end: as long as its files are kept at most. */
const KEPT_SECONDS = 30 * 86_400;

const deleteOld: Statement = {
  name: 'delete_old_batches',
  text: `WITH old AS (
           DELETE FROM batches WHERE id IN (
             SELECT id FROM batches WHERE ended_at <= to_timestamp($1::float8) AND NOT starts_with(id, $3)
              ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)
           RETURNING id),
         rejections AS (DELETE FROM batch_rejections WHERE batch_id IN (SELECT id FROM old))
         SELECT id FROM old`,
};

/**
 * Deletes batches that ended long ago; their tasks and files are not affected. Those with an Idempotency-Key are kept:
 * the key would create the batch a second time under the same id, and the ids of its lines follow from that.
 *
 * @returns how many, at most `limit`.
 */
export async function deleteOldBatches(
  database: Queryable,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  const rows = await database.query(deleteOld, [now / 1000 - KEPT_SECONDS, limit, KEYED_BATCH_PREFIX]);
  return rows.length;
}

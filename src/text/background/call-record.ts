/**
 * The rows of text calls that no connection waits for: creating, reading, and taking the turns in which attempts run
 * them. What an attempt has made of a call is recorded in record-outcome.ts.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { requestWork } from '../../tasks/outbox/outbox.ts';
import type { TextSurface } from '../source.ts';

type Json = Readonly<Record<string, unknown>>;

export type BackgroundState = 'queued' | 'in_progress' | 'answered' | 'failed' | 'cancelled';

/** A call that is not a line of a batch. */
export interface NewBackgroundCall {
  /** `resp_…`: the ledger's reference too. */
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly surface: TextSurface;
  readonly isStreamed: boolean;
  /** The caps of the caller, which may be a short-lived token. */
  readonly spendCapIds: readonly string[];
  readonly request: Json;
  /** The response object while it is queued. */
  readonly response: Json;
}

/** A line of a batch: its body is in the batch's input. */
export interface NewBatchCall {
  readonly id: string;
  /** From 0. */
  readonly line: number;
  /** Where the line begins in the input. */
  readonly lineBegin: number;
}

/** A call as the attempt that runs it sees it. */
export interface BackgroundCall {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly surface: TextSurface;
  /** The number of the attempt: only the last one may record anything. */
  readonly attempt: number;
  /** How many attempts ended without a trace: their processes died. */
  readonly lostAttempts: number;
  readonly isStreamed: boolean;
  /** Null: those that the key has when the call is run. */
  readonly spendCapIds: readonly string[] | null;
  readonly request: Json | null;
  readonly requestBytes: number;
  readonly batchId: string | null;
  readonly line: number | null;
  readonly lineBegin: number | null;
  readonly response: Json | null;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly startedAt: number;
}

/** What an account may have in the background at the same time, batches apart. These limits are ours. */
const MAX_OPEN = { calls: 1_000, bytes: 200_000_000 } as const;
const RETRY_SECONDS = 30;

/** The account has as many calls in the background as it may. */
export class BackgroundFullError extends DarkroomError {
  override readonly name = 'BackgroundFullError';
  override readonly kind = 'rate_limited';
  override readonly retryAfterSeconds = RETRY_SECONDS;

  constructor() {
    super(
      `this account has ${MAX_OPEN.calls} responses in the background, or ${MAX_OPEN.bytes / 1_000_000} MB of requests for them, which is all it may; wait until some have ended`,
    );
  }
}

/** How long a call that cannot begin is tried again. */
export const WAITS_HOURS = 24;

const lockAccountCalls: Statement = {
  name: 'lock_background_calls',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('background_calls:' || $1::text, 0))`,
};
const countOpen: Statement = {
  name: 'count_open_background_calls',
  text: `SELECT count(*)::integer AS calls, coalesce(sum(request_bytes), 0)::float8 AS bytes FROM background_calls
          WHERE account_id = $1 AND ended_at IS NULL AND batch_id IS NULL`,
};
const insertCall: Statement = {
  name: 'insert_background_call',
  text: `INSERT INTO background_calls (id, account_id, key_id, surface, is_streamed, spend_cap_ids, request, request_bytes,
                                       response)
         VALUES ($1, $2, $3, $4, $5, $6::text[], $7::json, $8, $9::json)`,
};

/** Records a call and requests its workflow, in the transaction that accepts it. @throws {BackgroundFullError} */
export async function insertBackgroundCall(transaction: Queryable, call: NewBackgroundCall): Promise<void> {
  const { id, accountId } = call;
  const request = JSON.stringify(call.request);
  const bytes = Buffer.byteLength(request);
  // One after another, so that together they cannot pass the limit.
  await transaction.query(lockAccountCalls, [accountId]);
  const [open] = await transaction.query<{ calls: number; bytes: number }>(countOpen, [accountId]);
  if (open !== undefined && (open.calls >= MAX_OPEN.calls || open.bytes + bytes > MAX_OPEN.bytes)) {
    throw new BackgroundFullError();
  }
  await transaction.query(insertCall, [
    id,
    accountId,
    call.keyId,
    call.surface,
    call.isStreamed,
    call.spendCapIds,
    request,
    bytes,
    JSON.stringify(call.response),
  ]);
  await requestWork(transaction, 'start_background_call', accountId, id);
}

const insertBatchLines: Statement = {
  name: 'insert_background_calls_of_batch',
  text: `WITH inserted AS (
           INSERT INTO background_calls (id, account_id, key_id, surface, batch_id, line, line_begin)
           SELECT l.id, $1, $2, $3, $4, l.line, l.line_begin
             FROM unnest($5::text[], $6::integer[], $7::bigint[]) AS l (id, line, line_begin)
           ON CONFLICT DO NOTHING RETURNING id)
         INSERT INTO outbox (kind, account_id, subject_id, is_ready)
         SELECT 'start_background_call', $1, id, true FROM inserted
         ON CONFLICT (kind, subject_id) DO NOTHING`,
};

/**
 * Records lines of a batch and requests their workflows. A line that was recorded before does not change.
 *
 * @param batch whose lines they are, with the account and the key that pay.
 */
export async function insertBatchCalls(
  transaction: Queryable,
  batch: {
    readonly batchId: string;
    readonly accountId: string;
    readonly keyId: string;
    readonly surface: TextSurface;
  },
  lines: readonly NewBatchCall[],
): Promise<void> {
  await transaction.query(insertBatchLines, [
    batch.accountId,
    batch.keyId,
    batch.surface,
    batch.batchId,
    lines.map(({ id }) => id),
    lines.map(({ line }) => line),
    lines.map(({ lineBegin }) => lineBegin),
  ]);
}

/**
 * Calls in the background leave half of the account's concurrent calls to others. One that has waited for as long as it
 * may is tried in any case, and then fails.
 */
const selectRoom: Statement = {
  name: 'select_room_for_background_call',
  text: `SELECT b.touched_at < now() - interval '1 minute' AS "isOld",
                c.text_streams < greatest(1, c.text_streams_cap / 2)
                  OR b.created_at < now() - make_interval(hours => ${WAITS_HOURS})
                  OR EXISTS (SELECT FROM text_calls t WHERE t.id = b.id AND t.settled_at IS NULL) AS "hasRoom"
           FROM background_calls b JOIN account_counters c ON c.account_id = b.account_id
          WHERE b.id = $1 AND b.ended_at IS NULL`,
};
const touch: Statement = {
  name: 'touch_background_calls',
  text: 'UPDATE background_calls SET touched_at = now() WHERE id = ANY ($1) AND ended_at IS NULL',
};

/**
 * Whether a call may begin: a check that is cheap, because many calls of an account may wait.
 *
 * @returns undefined if it has ended.
 */
export async function hasRoomFor(database: Queryable, id: string): Promise<boolean | undefined> {
  const [row] = await database.query<{ hasRoom: boolean; isOld: boolean }>(selectRoom, [id]);
  if (row !== undefined && !row.hasRoom && row.isOld) await touchCalls(database, [id]);
  return row?.hasRoom;
}

/** Records that the calls are being worked on. */
export async function touchCalls(database: Queryable, ids: readonly string[]): Promise<void> {
  await database.query(touch, [ids]);
}

const begin: Statement = {
  name: 'begin_background_attempt',
  text: `UPDATE background_calls
            SET state = 'in_progress', attempts = attempts + 1, is_running = true,
                lost_attempts = lost_attempts + CASE WHEN is_running THEN 1 ELSE 0 END,
                started_at = coalesce(started_at, now()), touched_at = now()
          WHERE id = $1 AND ended_at IS NULL
      RETURNING id, account_id AS "accountId", key_id AS "keyId", surface, attempts AS attempt,
                lost_attempts AS "lostAttempts", is_streamed AS "isStreamed", spend_cap_ids AS "spendCapIds", request,
                request_bytes AS "requestBytes", batch_id AS "batchId", line, line_begin::float8 AS "lineBegin", response,
                extract(epoch FROM created_at)::float8 AS "createdAt",
                extract(epoch FROM started_at)::float8 AS "startedAt"`,
};

/** Begins an attempt, which from now on is the only one that may record anything. @returns undefined if it has ended. */
export async function beginAttempt(database: Queryable, id: string): Promise<BackgroundCall | undefined> {
  const [call] = await database.query<BackgroundCall>(begin, [id]);
  return call;
}

const release: Statement = {
  name: 'release_background_attempt',
  text: `UPDATE background_calls
            SET is_running = false, touched_at = now(), state = CASE WHEN $3 THEN 'queued' ELSE state END
          WHERE id = $1 AND attempts = $2 AND ended_at IS NULL`,
};

/** An attempt ends without an outcome, so that another one may begin. @param isWaiting it has not really begun. */
export async function releaseAttempt(
  database: Queryable,
  { id, attempt }: Pick<BackgroundCall, 'id' | 'attempt'>,
  isWaiting: boolean,
): Promise<void> {
  await database.query(release, [id, attempt, isWaiting]);
}

const selectSuperseded: Statement = {
  name: 'select_superseded_background_attempts',
  text: `SELECT a.id, a.attempt FROM unnest($1::text[], $2::integer[]) AS a (id, attempt)
           LEFT JOIN background_calls b ON b.id = a.id
          WHERE b.id IS NULL OR b.ended_at IS NOT NULL OR b.attempts <> a.attempt`,
};

/** Those of some attempts that may no longer record anything: the call was cancelled, or another attempt has begun. */
export async function findSuperseded(
  database: Queryable,
  attempts: readonly Pick<BackgroundCall, 'id' | 'attempt'>[],
): Promise<readonly Pick<BackgroundCall, 'id' | 'attempt'>[]> {
  return database.query(selectSuperseded, [attempts.map(({ id }) => id), attempts.map(({ attempt }) => attempt)]);
}

/** How long the record of a call is kept after its end; the response of it is kept longer (stored-responses.ts). */
const KEPT_HOURS = 24;

const deleteEnded: Statement = {
  name: 'delete_ended_background_calls',
  text: `DELETE FROM background_calls
          WHERE id IN (
                SELECT id FROM background_calls b
                 WHERE ended_at < now() - make_interval(hours => ${KEPT_HOURS}) AND batch_id IS NULL
                   AND NOT EXISTS (SELECT FROM text_calls t WHERE t.id = b.id AND t.settled_at IS NULL)
                 ORDER BY ended_at LIMIT $1 FOR UPDATE SKIP LOCKED)
          RETURNING id`,
};

/** @returns how many were deleted, at most `limit`. */
export async function deleteEndedCalls(database: Queryable, limit: number): Promise<number> {
  return (await database.query(deleteEnded, [limit])).length;
}

const deleteBatchCalls: Statement = {
  name: 'delete_background_calls_of_batch',
  text: `DELETE FROM background_calls
          WHERE id IN (
                SELECT id FROM background_calls b
                 WHERE batch_id = $1 AND ended_at IS NOT NULL
                   AND NOT EXISTS (SELECT FROM text_calls t WHERE t.id = b.id AND t.settled_at IS NULL)
                 LIMIT $2 FOR UPDATE SKIP LOCKED)
          RETURNING id`,
};

/**
 * Deletes the records of a batch's lines, once its files are written. One whose money is not settled yet stays: call it
 * again, or leave it to the next pass.
 *
 * @returns how many, at most `limit`.
 */
export async function deleteCallsOfBatch(database: Queryable, batchId: string, limit: number): Promise<number> {
  return (await database.query(deleteBatchCalls, [batchId, limit])).length;
}

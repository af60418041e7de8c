/**
 * How text calls get into the background, and when they may begin. Each account has a queue, in order of arrival, in
 * which the lines of batches are behind all responses. A call that is not admitted is not attempted. As many are
 * admitted as may use half of the account's concurrent calls, and as many responses whatever lines there are, which may
 * wait for long; one that ends admits the next. The half itself is enforced where a call is held (money/move.ts),
 * because other calls of the account come and go meanwhile: an admitted call begins once there is room for it and for
 * those before it.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import { IdempotencyMismatchError } from '../../tasks/create/used-keys.ts';
import type { Fingerprint } from '../../tasks/record/fingerprint.ts';
import { backgroundCap } from '../money/move.ts';
import type { TextSurface } from '../source.ts';

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
  readonly request: Readonly<Record<string, unknown>>;
  /** The response object while it is queued. */
  readonly response: Readonly<Record<string, unknown>>;
}

/** A line of a batch: its body is in the batch's input. */
export interface NewBatchCall {
  readonly id: string;
  /** From 0. */
  readonly line: number;
  /** Where the line begins in the input. */
  readonly lineBegin: number;
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

const countOpen: Statement = {
  name: 'count_open_background_calls',
  text: `SELECT count(*)::integer AS calls, coalesce(sum(request_bytes), 0)::float8 AS bytes FROM background_calls
          WHERE account_id = $1 AND ended_at IS NULL AND batch_id IS NULL`,
};
const insertCall: Statement = {
  name: 'insert_background_call',
  text: `INSERT INTO background_calls (id, account_id, key_id, surface, is_streamed, spend_cap_ids, request, request_bytes,
                                       response, is_admitted)
         VALUES ($1, $2, $3, $4, $5, $6::text[], $7::json, $8, $9::json, false)`,
};

/**
 * Records a call at the end of its account's queue, in the transaction that accepts it.
 *
 * @throws {BackgroundFullError}
 */
export async function insertBackgroundCall(transaction: Queryable, call: NewBackgroundCall): Promise<void> {
  const { id, accountId } = call;
  const request = JSON.stringify(call.request);
  const bytes = Buffer.byteLength(request);
  // One after another, so that together they cannot pass the limit.
  await lockBackgroundQueue(transaction, accountId);
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
  await admitNext(transaction, accountId);
}

const insertBatchLines: Statement = {
  name: 'insert_background_calls_of_batch',
  text: `INSERT INTO background_calls (id, account_id, key_id, surface, batch_id, line, line_begin, is_admitted)
         SELECT l.id, $1, $2, $3, $4, l.line, l.line_begin, false
           FROM unnest($5::text[], $6::integer[], $7::bigint[]) AS l (id, line, line_begin)
         ON CONFLICT DO NOTHING`,
};

/**
 * Records lines of a batch at the end of their account's queue. A line that was recorded before does not change.
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
  await lockBackgroundQueue(transaction, batch.accountId);
  await admitNext(transaction, batch.accountId);
}

/**
 * A response in the background that was requested with an Idempotency-Key (contract §9.6). Its id follows from the key,
 * and a row that is never deleted says which request it belongs to.
 */
export interface KeyedRequest {
  /** The id that follows from the key. */
  readonly responseId: string;
  readonly accountId: string;
  readonly fingerprint: Fingerprint;
}

const selectKey: Statement = {
  name: 'select_response_key',
  text: 'SELECT fingerprint FROM response_keys WHERE response_id = $1 AND account_id = $2',
};

/**
 * @returns whether an equal request was accepted before. @throws {IdempotencyMismatchError} another request was
 *   accepted with this key.
 */
export async function isAccepted(
  database: Queryable,
  { responseId, accountId, fingerprint }: KeyedRequest,
): Promise<boolean> {
  const [row] = await database.query<{ fingerprint: Buffer }>(selectKey, [responseId, accountId]);
  if (row === undefined) return false;
  if (!row.fingerprint.equals(fingerprint.hash)) throw new IdempotencyMismatchError();
  return true;
}

const insertKey: Statement = {
  name: 'insert_response_key',
  text: `INSERT INTO response_keys (response_id, account_id, fingerprint, fingerprint_version) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING response_id`,
};

/**
 * Takes the key in the transaction that accepts its request. A transaction that is taking it at this moment is waited
 * for.
 *
 * @returns false: an equal request was accepted before. @throws {IdempotencyMismatchError}
 */
export async function takeKey(transaction: Queryable, request: KeyedRequest): Promise<boolean> {
  const { responseId, accountId, fingerprint } = request;
  const taken = await transaction.query(insertKey, [responseId, accountId, fingerprint.hash, fingerprint.version]);
  return taken.length > 0 || !(await isAccepted(transaction, request));
}

/** How long a call that cannot begin is tried again. */
export const WAITS_HOURS = 24;

const WAITED_TOO_LONG = `created_at < now() - make_interval(hours => ${WAITS_HOURS})`;

const lockQueue: Statement = {
  name: 'lock_background_calls',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('background_calls:' || $1::text, 0))`,
};

/**
 * Lets a transaction change the queue of an account alone. It waits with its connection, and so has to be one of those
 * that the account may have (limits/row-databases.ts).
 */
export async function lockBackgroundQueue(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.query(lockQueue, [accountId]);
}

/** Where a call is in the queue of its account. */
export const placeOf = (call: string): string =>
  `(${call}.batch_id IS NOT NULL, ${call}.created_at, coalesce(${call}.line, 0), ${call}.id)`;

/** Those of the account that may be admitted. One that has waited for as long as it may is, and then fails. */
const nextOf = (calls: string, room: string): string =>
  `SELECT id FROM background_calls
    WHERE account_id = $1 AND ended_at IS NULL AND NOT is_admitted AND ${calls}
    ORDER BY created_at, line, id
    LIMIT (SELECT greatest(${room}, (
                    SELECT count(*) FROM background_calls
                     WHERE account_id = $1 AND ended_at IS NULL AND NOT is_admitted AND ${calls} AND ${WAITED_TOO_LONG}))
             FROM room)
      FOR NO KEY UPDATE SKIP LOCKED`;

const admit: Statement = {
  name: 'admit_background_calls',
  text: `WITH room AS (
           SELECT ${backgroundCap.sql('c.text_streams_cap')} - a.responses AS responses,
                  ${backgroundCap.sql('c.text_streams_cap')} - a.calls AS calls
             FROM account_counters c,
                  (SELECT count(*) AS calls, count(*) FILTER (WHERE batch_id IS NULL) AS responses
                     FROM background_calls WHERE account_id = $1 AND ended_at IS NULL AND is_admitted) a
            WHERE c.account_id = $1),
         responses AS (
           ${nextOf('batch_id IS NULL', 'responses')}),
         lines AS (
           ${nextOf('batch_id IS NOT NULL', 'calls - (SELECT count(*) FROM responses)')}),
         next AS (
           SELECT id FROM responses UNION ALL SELECT id FROM lines)
         UPDATE background_calls b SET is_admitted = true, due_at = now() FROM next n WHERE b.id = n.id`,
};

/** Admits the calls that are next, in a transaction that has locked the queue. */
export async function admitNext(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.query(admit, [accountId]);
}

const selectWaiting: Statement = {
  name: 'select_accounts_with_waiting_background_calls',
  text: `SELECT DISTINCT account_id AS "accountId" FROM background_calls w
          WHERE ended_at IS NULL AND NOT is_admitted
            AND ($1::text IS NULL OR account_id = (SELECT account_id FROM background_calls WHERE id = $1))`,
};

/**
 * Admits what is next in the queue of the account of a call that has ended, or in all queues: a process may have died
 * before it did, or a limit was raised.
 */
export async function admitWaiting(
  { database, accountDatabase }: { readonly database: Queryable; readonly accountDatabase: AccountDatabase },
  endedId?: string,
): Promise<void> {
  const accounts = await database.query<{ accountId: string }>(selectWaiting, [endedId ?? null]);
  for (const { accountId } of accounts) {
    await accountDatabase(accountId).transaction(async (transaction) => {
      await lockBackgroundQueue(transaction, accountId);
      await admitNext(transaction, accountId);
    });
  }
}

const selectRoom: Statement = {
  name: 'select_room_for_background_call',
  text: `SELECT c.text_streams + (
                  SELECT count(*) FROM background_calls e
                   WHERE e.account_id = b.account_id AND e.ended_at IS NULL AND e.is_admitted AND NOT e.is_running
                     AND ${placeOf('e')} < ${placeOf('b')}
                     AND NOT EXISTS (SELECT FROM text_calls t WHERE t.id = e.id AND t.settled_at IS NULL))
                  < ${backgroundCap.sql('c.text_streams_cap')}
                  OR b.${WAITED_TOO_LONG}
                  OR EXISTS (SELECT FROM text_calls t WHERE t.id = b.id AND t.settled_at IS NULL) AS "hasRoom"
           FROM background_calls b JOIN account_counters c ON c.account_id = b.account_id
          WHERE b.id = $1 AND b.ended_at IS NULL`,
};

/**
 * Whether an admitted call may begin: a check that is cheaper than an attempt to hold.
 *
 * @returns undefined if it has ended.
 */
export async function hasRoomFor(database: Queryable, id: string): Promise<boolean | undefined> {
  const [row] = await database.query<{ hasRoom: boolean }>(selectRoom, [id]);
  return row?.hasRoom;
}

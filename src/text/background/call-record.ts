/**
 * The rows of text calls that no connection waits for, and the attempts that run them: which process may begin one,
 * which of them may still record anything, and what is kept of a call. How a call gets into its queue is in queue.ts,
 * and what an attempt has made of it is recorded in record-outcome.ts.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../../database/database.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Backlog, OpenCalls } from '../../telemetry/metrics-service.ts';
import { LEASE_SECONDS } from '../money/process-lease.ts';
import type { TextSurface } from '../source.ts';
import { WAITS_HOURS, placeOf } from './queue.ts';

type Json = Readonly<Record<string, unknown>>;

export type BackgroundState = 'queued' | 'in_progress' | 'answered' | 'failed' | 'cancelled';

/** A call as the attempt that runs it sees it. */
export interface BackgroundCall {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly surface: TextSurface;
  /** The number of the attempt: only the last one may record anything. */
  readonly attempt: number;
  /** How many attempts were lost: their processes died, or upstreams failed after they were sent the request. */
  readonly lostAttempts: number;
  readonly isStreamed: boolean;
  /** Null: those that the key has when the call is run. */
  readonly spendCapIds: readonly string[] | null;
  /** The size of its request; 0 for the line of a batch. */
  readonly requestBytes: number;
  readonly batchId: string | null;
  readonly line: number | null;
  readonly lineBegin: number | null;
  readonly response: Json | null;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly startedAt: number;
  /** Until when it may wait for what passes: the end of its batch's window, or a day. */
  readonly waitsUntil: number;
}

/**
 * An attempt is alive as long as its process has its lease; which of its own are, a process knows itself (run.ts), also
 * if the database has lost their ends (docs/decisions/0005). Like the sweep of holds (money/sweep.ts), a process takes
 * over from others only once its own lease has run unbroken: after an outage of the database all of them have expired.
 */
const isDead = (own: string): string =>
  `NOT EXISTS (SELECT FROM text_processes p WHERE p.id = b.process_id AND p.leased_until > now())
   AND EXISTS (SELECT FROM text_processes p
                WHERE p.id = ${own} AND p.leased_until > now()
                  AND p.unbroken_since <= now() - make_interval(secs => ${LEASE_SECONDS}))`;

/** Whether a process, which makes no attempt at the call `b`, may begin one. */
const mayBegin = (own: string): string => `(NOT b.is_running OR b.process_id = ${own} OR (${isDead(own)}))`;

/** Beside what the settlement of the call records (money/move.ts): the same row. The hold of the call is in `t`. */
const bookLostRequests = (requests: string, attempt: string): string =>
  `INSERT INTO operator_costs AS o (task_id, upstream, model, reason, at_most_micro_usd)
   SELECT a.id || ':lost', 'text', t.model, 'attempt_lost', t.held_micro_usd * ${requests}
     FROM ${attempt} a JOIN text_calls t ON t.id = a.id AND t.model IS NOT NULL
    WHERE ${requests} > 0
   ON CONFLICT (task_id) DO UPDATE SET at_most_micro_usd = o.at_most_micro_usd + excluded.at_most_micro_usd`;

/** How soon a call is due again that has not begun since it was claimed: its account has no room, or a process died. */
const CLAIM_SECONDS = 2;

/**
 * Accounts take turns: first is a call of the account that has the fewest running in all processes. Nothing is waited
 * for: a row that is locked is claimed by whoever holds it, or later.
 */
const claim: Statement = {
  name: 'claim_background_calls',
  text: `WITH running AS (
           SELECT account_id, count(*) AS calls FROM background_calls
            WHERE ended_at IS NULL AND is_admitted AND is_running GROUP BY account_id),
         due AS (
           SELECT b.id, b.due_at,
                  coalesce(r.calls, 0) + row_number() OVER (PARTITION BY b.account_id ORDER BY ${placeOf('b')}) AS turn
             FROM background_calls b LEFT JOIN running r ON r.account_id = b.account_id
            WHERE b.ended_at IS NULL AND b.is_admitted AND b.due_at <= now() AND ${mayBegin('$1')}
              AND b.id <> ALL ($2::text[]) AND b.account_id <> ALL ($3::text[])),
         taken AS (
           SELECT b.id FROM due d JOIN background_calls b ON b.id = d.id AND b.ended_at IS NULL AND b.due_at <= now()
            ORDER BY d.turn, d.due_at LIMIT $4 FOR NO KEY UPDATE OF b SKIP LOCKED)
         UPDATE background_calls b SET due_at = now() + make_interval(secs => ${CLAIM_SECONDS})
           FROM taken t WHERE b.id = t.id
        RETURNING b.id, b.account_id AS "accountId"`,
};

export interface ClaimedCall {
  readonly id: string;
  readonly accountId: string;
}

/**
 * Claims calls that are due.
 *
 * @param processId of this process. @param without the calls that it is making already, and accounts that are to have
 *   no more of its slots.
 */
export async function claimDueCalls(
  database: Queryable,
  processId: string,
  without: { readonly rows: readonly string[]; readonly accounts: readonly string[] },
  limit: number,
): Promise<readonly ClaimedCall[]> {
  return database.query<ClaimedCall>(claim, [processId, without.rows, without.accounts, limit]);
}

const begin: Statement = {
  name: 'begin_background_attempt',
  text: `WITH earlier AS (
           SELECT id, is_running, is_sent FROM background_calls b
            WHERE id = $1 AND ended_at IS NULL AND ${mayBegin('$2')} FOR NO KEY UPDATE),
         begun AS (
           UPDATE background_calls b
              SET state = 'in_progress', attempts = attempts + 1, is_running = true, is_sent = false, process_id = $2,
                  lost_attempts = lost_attempts + e.is_running::integer, started_at = coalesce(started_at, now())
             FROM earlier e WHERE b.id = e.id
        RETURNING b.*),
         lost AS (
           ${bookLostRequests('(a.is_running AND a.is_sent)::integer', 'earlier')})
         SELECT id, account_id AS "accountId", key_id AS "keyId", surface, attempts AS attempt,
                lost_attempts AS "lostAttempts", is_streamed AS "isStreamed", spend_cap_ids AS "spendCapIds",
                request_bytes AS "requestBytes", batch_id AS "batchId", line, line_begin::float8 AS "lineBegin", response,
                extract(epoch FROM created_at)::float8 AS "createdAt",
                extract(epoch FROM started_at)::float8 AS "startedAt",
                extract(epoch FROM coalesce((SELECT w.expires_at FROM batches w WHERE w.id = begun.batch_id),
                                            created_at + interval '${WAITS_HOURS} hours'))::float8 AS "waitsUntil"
           FROM begun`,
};

/**
 * Begins an attempt, which from now on is the only one that may record anything.
 *
 * @param processId of this process, which makes no other attempt at the call.
 * @returns undefined if the call has ended, or an attempt of another process is alive.
 */
export async function beginAttempt(
  database: Queryable,
  id: string,
  processId: string,
): Promise<BackgroundCall | undefined> {
  const [call] = await database.query<BackgroundCall>(begin, [id, processId]);
  return call;
}

const markSent: Statement = {
  name: 'mark_background_attempt_sent',
  text: `UPDATE background_calls SET is_sent = true WHERE id = $1 AND attempts = $2 AND ended_at IS NULL RETURNING id`,
};

/**
 * Records that a request of an attempt is about to be sent to an upstream that may bill it.
 *
 * @returns false: the call has ended, or another attempt has begun.
 */
export async function markAttemptSent(
  database: Queryable,
  { id, attempt }: Pick<BackgroundCall, 'id' | 'attempt'>,
): Promise<boolean> {
  return (await database.query(markSent, [id, attempt])).length > 0;
}

const selectRequest: Statement = {
  name: 'select_background_request',
  text: 'SELECT request::text AS request FROM background_calls WHERE id = $1',
};

/** The request of a call that is not a line of a batch, as it is stored; undefined if the call has ended. */
export async function readRequest(database: Queryable, id: string): Promise<string | undefined> {
  const [row] = await database.query<{ request: string | null }>(selectRequest, [id]);
  return row?.request ?? undefined;
}

const release: Statement = {
  name: 'release_background_attempt',
  text: `WITH released AS (
           UPDATE background_calls
              SET is_running = false, is_sent = false, due_at = now() + make_interval(secs => $7::float8 / 1000),
                  state = CASE WHEN $3 THEN 'queued' ELSE state END, lost_attempts = lost_attempts + $4::boolean::integer,
                  waiting_for = $6
            WHERE id = $1 AND attempts = $2 AND ended_at IS NULL
        RETURNING id)
         ${bookLostRequests('$5::integer', 'released')}`,
};

/** What is left of an attempt that ended without an outcome. */
export interface ReleasedAttempt {
  /** After how many milliseconds another one may begin; default 0. */
  readonly dueInMs?: number;
  /** It has not really begun. */
  readonly isWaiting?: boolean;
  /** Why it is put off, if it is. */
  readonly waitingFor?: WaitReason | undefined;
  /** It counts among those after which the call is given up. */
  readonly isLost?: boolean;
  /** Requests of it that an upstream may bill. */
  readonly lostRequests?: number;
}

/** An attempt ends without an outcome, so that another one may begin. */
export async function releaseAttempt(
  database: Queryable,
  { id, attempt }: Pick<BackgroundCall, 'id' | 'attempt'>,
  { dueInMs = 0, isWaiting = false, waitingFor, isLost = false, lostRequests = 0 }: ReleasedAttempt = {},
): Promise<void> {
  const isCounted = isLost || lostRequests > 0;
  await database.query(release, [id, attempt, isWaiting, isCounted, lostRequests, waitingFor ?? null, dueInMs]);
}

const selectSuperseded: Statement = {
  name: 'select_superseded_background_attempts',
  text: `SELECT a.id, a.attempt FROM unnest($1::text[], $2::integer[]) AS a (id, attempt)
           LEFT JOIN background_calls b ON b.id = a.id
          WHERE b.id IS NULL OR b.ended_at IS NOT NULL OR b.attempts <> a.attempt`,
};

/** Those of some attempts that may no longer record anything: the call was cancelled, or another attempt has begun. */
async function findSuperseded(
  database: Queryable,
  attempts: readonly Pick<BackgroundCall, 'id' | 'attempt'>[],
): Promise<readonly Pick<BackgroundCall, 'id' | 'attempt'>[]> {
  return database.query(selectSuperseded, [attempts.map(({ id }) => id), attempts.map(({ attempt }) => attempt)]);
}

/** How often a process looks whether its attempts may still record anything. */
const CHECK_EVERY_MS = 1_000;

/** An attempt of this process. */
type WatchedAttempt = Pick<BackgroundCall, 'id' | 'attempt'>;

export interface AttemptWatch {
  /** @param onSuperseded called at most once; must not throw. @returns a function that ends the watch. */
  add(attempt: WatchedAttempt, onSuperseded: () => void): () => void;
}

/**
 * Notices that attempts of this process may no longer record anything, because their call was cancelled or another
 * attempt has begun: one statement a second for all of them.
 */
export function createAttemptWatch({
  database,
  logger,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
}): AttemptWatch {
  const watched = new Map<WatchedAttempt, () => void>();
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;

  const check = async (): Promise<void> => {
    const attempts = [...watched.keys()];
    const superseded = new Set((await findSuperseded(database, attempts)).map(keyOf));
    for (const attempt of attempts) {
      if (!superseded.has(keyOf(attempt))) continue;
      watched.get(attempt)?.();
      watched.delete(attempt);
    }
  };

  const tick = async (): Promise<void> => {
    try {
      await check();
      failures = 0;
    } catch (error) {
      if (failures === 0) logger.warn({ err: error }, 'watching text calls in the background failed; retrying');
      failures += 1;
    }
    timer = undefined;
    schedule();
  };

  const schedule = (): void => {
    if (timer !== undefined || watched.size === 0) return;
    timer = setTimeout(() => void tick(), CHECK_EVERY_MS).unref();
  };

  return {
    add(attempt, onSuperseded) {
      watched.set(attempt, onSuperseded);
      schedule();
      return () => void watched.delete(attempt);
    },
  };
}

function keyOf({ id, attempt }: WatchedAttempt): string {
  return `${id}:${attempt}`;
}

/** Rows of a partial index. */
const selectOpenCalls: Statement = {
  name: 'select_open_background_calls',
  text: `SELECT CASE WHEN batch_id IS NULL THEN 'response' ELSE 'batch_line' END AS kind, state, count(*)::integer AS count,
                greatest(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
           FROM background_calls WHERE ended_at IS NULL GROUP BY 1, 2`,
};

type OpenCallsRow = Backlog & { readonly kind: keyof OpenCalls; readonly state: keyof OpenCalls['response'] };

/**
 * For the metrics: how many calls have not ended, of each kind in each state, and for how long the oldest has been
 * open.
 */
export async function readOpenCalls(database: Queryable): Promise<OpenCalls> {
  const rows = await database.query<OpenCallsRow>(selectOpenCalls);
  const of = (kind: OpenCallsRow['kind'], state: OpenCallsRow['state']): Backlog => {
    const row = rows.find((each) => each.kind === kind && each.state === state);
    return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
  };
  const ofKind = (kind: OpenCallsRow['kind']): OpenCalls['response'] => ({
    queued: of(kind, 'queued'),
    in_progress: of(kind, 'in_progress'),
  });
  return { response: ofKind('response'), batch_line: ofKind('batch_line') };
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

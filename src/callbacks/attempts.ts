/**
 * The record of a callback's delivery attempts (contract §6). An attempt is recorded before it is sent, so that an
 * attempt whose worker dies while sending counts, and a receiver never gets more than the schedule allows. A
 * redelivery restarts the schedule; attempt numbers continue.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { CallbackState } from '@darkroom/api/facts/callback';
import { MAX_LISTED_ATTEMPTS } from '@darkroom/api/facts/limits';

/** How an attempt without an HTTP response is classified (contract §6). */
export type AttemptErrorClass = 'tls' | 'timeout' | 'unreachable';

/** How an attempt ended. */
export interface AttemptResult {
  readonly httpStatus?: number;
  readonly errorClass?: AttemptErrorClass;
}

/** A delivery to be attempted. */
export interface PendingCallback {
  readonly accountId: string;
  readonly url: string;
  /** The number of the attempt that starts now, 1 for the first of the task. */
  readonly attempt: number;
  /** Its position in the schedule, 1 for the first of this delivery. */
  readonly scheduled: number;
}

/** How much too early an attempt may start: Temporal's timers and the database have separate clocks. */
const IS_TOO_EARLY = `coalesce(next_attempt_at > now() + interval '1 second', false)`;

const beginStatement: Statement = {
  name: 'begin_callback_attempt',
  text: `WITH begun AS (
           UPDATE callbacks SET attempts = attempts + 1, next_attempt_at = NULL
            WHERE task_id = $1 AND state = 'pending' AND url <> '' AND attempts - attempts_before < $2
              AND NOT ${IS_TOO_EARLY}
        RETURNING task_id, account_id, url, attempts, attempts_before),
         attempt AS (
           INSERT INTO callback_attempts (task_id, account_id, attempt, started_at)
           SELECT task_id, account_id, attempts, clock_timestamp() FROM begun)
         SELECT account_id AS "accountId", url, attempts AS attempt, attempts - attempts_before AS scheduled FROM begun`,
};

/**
 * Starts the next attempt.
 *
 * @param maxAttempts the number of attempts in the schedule.
 * @returns undefined if there is nothing left to send (delivered, stopped, or the schedule is exhausted), or if it is
 *   too early (`findDelayMs`).
 */
export async function beginAttempt(
  transaction: Queryable,
  taskId: TaskId,
  maxAttempts: number,
): Promise<PendingCallback | undefined> {
  const [row] = await transaction.query<PendingCallback>(beginStatement, [taskId, maxAttempts]);
  return row;
}

const selectDelay: Statement = {
  name: 'select_callback_delay',
  text: `SELECT ceil(extract(epoch FROM next_attempt_at - now()) * 1000)::float8 AS "delayMs"
           FROM callbacks WHERE task_id = $1 AND state = 'pending' AND ${IS_TOO_EARLY}`,
};

/**
 * How long a delivery must wait for its next attempt: Temporal may retry early if it did not learn how the previous
 * attempt ended.
 *
 * @returns milliseconds; undefined if the attempt is due, or there is none.
 */
export async function findDelayMs(database: Queryable, taskId: TaskId): Promise<number | undefined> {
  const [row] = await database.query<{ delayMs: number }>(selectDelay, [taskId]);
  return row?.delayMs;
}

const takeBackStatement: Statement = {
  name: 'take_back_callback_attempt',
  text: `WITH callback AS (
           UPDATE callbacks SET attempts = attempts - 1, next_attempt_at = now()
            WHERE task_id = $1 AND attempts = $2 AND state = 'pending'
        RETURNING task_id)
         DELETE FROM callback_attempts a USING callback c WHERE a.task_id = c.task_id AND a.attempt = $2`,
};

/** Reverts an attempt that was started and not sent, unless another has started since. Call it once per attempt. */
export async function withdrawAttempt(database: Queryable, taskId: TaskId, attempt: number): Promise<void> {
  await database.query(takeBackStatement, [taskId, attempt]);
}

/** The callback URL of an erased task is kept only while it is being delivered (tasks/lifecycle/erase.ts). */
const IS_ERASED = `(SELECT t.erased_at IS NOT NULL FROM tasks t WHERE t.id = callbacks.task_id)`;

const finishStatement: Statement = {
  name: 'finish_callback_attempt',
  text: `WITH attempt AS (
           UPDATE callback_attempts SET finished_at = clock_timestamp(), http_status = $3, error_class = $4
            WHERE task_id = $1 AND attempt = $2 AND finished_at IS NULL
        RETURNING round(extract(epoch FROM finished_at - started_at) * 1000)::float8 AS "durationMs"),
         callback AS (
           UPDATE callbacks
              SET state = $5, next_attempt_at = now() + make_interval(secs => $6),
                  url = CASE WHEN $5 <> 'pending' AND ${IS_ERASED} THEN '' ELSE url END
            WHERE task_id = $1 AND EXISTS (SELECT 1 FROM attempt)
              AND ((state = 'pending' AND attempts = $2 AND attempts_before < $2) OR $5 IN ('delivered', 'stopped'))
        RETURNING task_id)
         SELECT "durationMs", EXISTS (SELECT 1 FROM callback) AS "isDecisive" FROM attempt`,
};

/** An attempt whose result was recorded. */
export interface FinishedAttempt {
  readonly durationMs: number;
  /** Whether this attempt determined the state of the delivery. */
  readonly isDecisive: boolean;
}

/**
 * Records how an attempt ended and updates the delivery. An attempt that was superseded by another (its worker was
 * presumed dead) changes the delivery only if it reached the receiver.
 *
 * @param nextDelayMs until the next attempt; undefined if there is none.
 * @returns undefined if the result was already recorded; nothing changes then.
 */
export async function finishAttempt(
  transaction: Queryable,
  taskId: TaskId,
  attempt: number,
  result: AttemptResult,
  state: CallbackState,
  nextDelayMs: number | undefined,
): Promise<FinishedAttempt | undefined> {
  const [row] = await transaction.query<FinishedAttempt>(finishStatement, [
    taskId,
    attempt,
    result.httpStatus ?? null,
    result.errorClass ?? null,
    state,
    nextDelayMs === undefined ? null : nextDelayMs / 1000,
  ]);
  return row;
}

const selectAccount: Statement = {
  name: 'select_callback_account',
  text: 'SELECT account_id AS "accountId" FROM callbacks WHERE task_id = $1',
};

/** @returns undefined if the task has no callback. */
export async function accountOfCallback(database: Queryable, taskId: TaskId): Promise<string | undefined> {
  const [row] = await database.query<{ accountId: string }>(selectAccount, [taskId]);
  return row?.accountId;
}

const postponeStatement: Statement = {
  name: 'postpone_callback',
  text: `UPDATE callbacks SET next_attempt_at = greatest(next_attempt_at, now() + make_interval(secs => $2))
          WHERE task_id = $1 AND state = 'pending'`,
};

/** Records the time of the next attempt of a delivery that has to wait for its turn; never earlier than it was due. */
export async function postponeAttempt(database: Queryable, taskId: TaskId, delayMs: number): Promise<void> {
  await database.query(postponeStatement, [taskId, delayMs / 1000]);
}

const exhaustStatement: Statement = {
  name: 'exhaust_callback',
  text: `UPDATE callbacks
            SET state = 'exhausted', next_attempt_at = NULL, url = CASE WHEN ${IS_ERASED} THEN '' ELSE url END
          WHERE task_id = $1 AND state = 'pending' AND attempts - attempts_before >= $2`,
};

/**
 * Ends a delivery whose schedule was used up by attempts of workers that died. A delivery that was restarted at this
 * very moment still has attempts left and is not changed.
 *
 * @param maxAttempts the number of attempts in the schedule.
 */
export async function markExhausted(database: Queryable, taskId: TaskId, maxAttempts: number): Promise<void> {
  await database.query(exhaustStatement, [taskId, maxAttempts]);
}

const selectRequestedAgain: Statement = {
  name: 'select_callback_asked_again',
  text: 'SELECT asked_again_at IS NOT NULL AS "isRequestedAgain" FROM callbacks WHERE task_id = $1',
};

/**
 * Whether reconciliation requested the delivery in progress again (tasks/outbox/outbox.ts), because it seemed to be
 * lost.
 */
export async function isRequestedAgain(database: Queryable, taskId: TaskId): Promise<boolean> {
  const [row] = await database.query<{ isRequestedAgain: boolean }>(selectRequestedAgain, [taskId]);
  return row?.isRequestedAgain === true;
}

const restartStatement: Statement = {
  name: 'restart_callback',
  text: `UPDATE callbacks
            SET state = 'pending', attempts_before = attempts, next_attempt_at = now(), asked_again_at = NULL
          WHERE task_id = $1 AND state <> 'pending'
         RETURNING task_id`,
};

/**
 * Restarts the schedule of a task that has ended.
 *
 * @returns false if a delivery is in progress, which continues unchanged, or if there is no callback.
 */
export async function restartDelivery(transaction: Queryable, taskId: TaskId): Promise<boolean> {
  const rows = await transaction.query(restartStatement, [taskId]);
  return rows.length === 1;
}

/** An attempt as it is listed. */
export interface RecordedAttempt {
  readonly attempt: number;
  /** Unix seconds. */
  readonly at: number;
  /** Null while it is in progress, or if its worker died. */
  readonly durationMs: number | null;
  readonly httpStatus: number | null;
  readonly errorClass: AttemptErrorClass | null;
}

/** A task's callback with its last attempts, in order. */
export interface CallbackRecord {
  /** Empty once erased. */
  readonly url: string;
  readonly state: CallbackState;
  readonly attempts: readonly RecordedAttempt[];
}

const selectCallback: Statement = {
  name: 'select_callback',
  text: `SELECT c.url, c.state,
                (SELECT coalesce(json_agg(json_build_object(
                          'attempt', a.attempt, 'at', floor(extract(epoch FROM a.started_at)),
                          'durationMs', round(extract(epoch FROM a.finished_at - a.started_at) * 1000),
                          'httpStatus', a.http_status, 'errorClass', a.error_class) ORDER BY a.attempt), '[]')
                   FROM (SELECT * FROM callback_attempts WHERE task_id = c.task_id
                          ORDER BY attempt DESC LIMIT ${MAX_LISTED_ATTEMPTS}) a) AS attempts
           FROM callbacks c WHERE c.task_id = $1`,
};

/** @returns undefined if the task has no callback. The caller must check who owns the task. */
export async function readCallback(database: Queryable, taskId: TaskId): Promise<CallbackRecord | undefined> {
  const [row] = await database.query<CallbackRecord>(selectCallback, [taskId]);
  return row;
}

/** The maximum number of attempts that one filtered response scans. */
export const WALKED_ATTEMPTS = 2_000;

/** An attempt's position among those of its account. */
interface AttemptPosition {
  /** When it started, in microseconds since 1970: PostgreSQL's precision. */
  readonly createdMicros: bigint;
  /** The id of the task. */
  readonly id: string;
}

interface AttemptListRequest {
  readonly accountId: string;
  /** Only attempts for callbacks that are in one of these states now; absent: all. */
  readonly states?: readonly CallbackState[] | undefined;
  /** Scheme, host and port, as `new URL` formats them; absent: all. */
  readonly origin?: string | undefined;
  /** The list continues after this position. */
  readonly after?: AttemptPosition | undefined;
  readonly size: number;
}

/** An attempt with the callback that it belongs to. */
export interface ListedAttempt extends RecordedAttempt {
  readonly taskId: TaskId;
  /** Empty once erased. */
  readonly url: string;
  readonly state: CallbackState;
}

interface AttemptList {
  /** At most `size`; fewer, or even none, does not mean that there are no more. */
  readonly attempts: readonly ListedAttempt[];
  /** There may be more after this position. */
  readonly next: AttemptPosition | undefined;
}

const selectAttempts: Statement = {
  name: 'select_attempts_of_account',
  text: `SELECT a.task_id AS "taskId", c.url, c.state, a.attempt,
                floor(extract(epoch FROM a.started_at))::float8 AS at,
                round(extract(epoch FROM a.finished_at - a.started_at) * 1000)::float8 AS "durationMs",
                a.http_status AS "httpStatus", a.error_class AS "errorClass",
                (extract(epoch FROM a.started_at) * 1000000)::bigint AS "createdMicros"
           FROM (SELECT * FROM callback_attempts
                  WHERE account_id = $1
                    AND (started_at, task_id) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::text, ''))
                  ORDER BY started_at DESC, task_id DESC LIMIT $4) a
           JOIN callbacks c ON c.task_id = a.task_id
          ORDER BY a.started_at DESC, a.task_id DESC`,
};

type AttemptRow = ListedAttempt & { readonly createdMicros: bigint };

/**
 * The callback attempts of an account, across all its tasks, newest first (`GET /account/callbacks`).
 *
 * An attempt's position is its start time and its task: the attempts of one task are sequential. A filter that matches
 * little would scan the whole history; so one response scans a limited number of attempts and returns where it
 * stopped.
 */
export async function listAttempts(database: Queryable, request: AttemptListRequest): Promise<AttemptList> {
  const { accountId, states, origin, after, size } = request;
  const isFiltered = states !== undefined || origin !== undefined;
  const walked = isFiltered ? WALKED_ATTEMPTS : size + 1;
  const rows = await database.query<AttemptRow>(selectAttempts, [
    accountId,
    after === undefined ? null : timestamp(after.createdMicros),
    after?.id ?? null,
    walked,
  ]);
  const matching = rows.filter(
    (row) =>
      (states === undefined || states.includes(row.state)) && (origin === undefined || originOf(row.url) === origin),
  );
  const shown = matching.slice(0, size);
  const last = matching.length > size ? shown.at(-1) : rows.length === walked ? rows.at(-1) : undefined;
  return {
    attempts: shown,
    next: last === undefined ? undefined : { createdMicros: last.createdMicros, id: last.taskId },
  };
}

/** @param url of a callback. @returns undefined if it was erased. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Formats a time for PostgreSQL, including its microseconds. */
function timestamp(micros: bigint): string {
  const milliseconds = new Date(Number(micros / 1_000n)).toISOString().slice(0, -1);
  return `${milliseconds}${String(micros % 1_000n).padStart(3, '0')}Z`;
}

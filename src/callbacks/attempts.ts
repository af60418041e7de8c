/**
 * The record of a callback's attempts (contract §6). An attempt is written before it is sent, so that a worker that dies
 * while sending has used it up, and a receiver never sees more than the schedule allows.
 */
import type { Database, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

/** What can be told of an attempt that brought no HTTP answer (contract §6). */
export type AttemptErrorClass = 'tls' | 'timeout' | 'unreachable';

/** How an attempt ended. */
export interface AttemptResult {
  readonly httpStatus?: number;
  readonly errorClass?: AttemptErrorClass;
}

/** Where a delivery stands. `waiting`: the task is not over yet. */
export type CallbackState = 'waiting' | 'pending' | 'delivered' | 'exhausted' | 'stopped';

/** A delivery to be attempted. */
export interface PendingCallback {
  readonly accountId: string;
  readonly url: string;
  /** The number of the attempt now begun, 1 for the first. */
  readonly attempt: number;
}

const beginStatement: Statement = {
  name: 'begin_callback_attempt',
  text: `WITH begun AS (
           UPDATE callbacks SET attempts = attempts + 1, next_attempt_at = NULL
            WHERE task_id = $1 AND state = 'pending' AND attempts < $2
        RETURNING task_id, account_id, url, attempts),
         attempt AS (
           INSERT INTO callback_attempts (task_id, attempt) SELECT task_id, attempts FROM begun)
         SELECT account_id AS "accountId", url, attempts AS attempt FROM begun`,
};

/**
 * Begins the next attempt.
 *
 * @param maxAttempts as many as the schedule has.
 * @returns undefined where nothing is to be sent any more: delivered, stopped, or the schedule is used up.
 */
export async function beginAttempt(
  database: Database,
  taskId: TaskId,
  maxAttempts: number,
): Promise<PendingCallback | undefined> {
  const [row] = await database.query<PendingCallback>(beginStatement, [taskId, maxAttempts]);
  return row;
}

const finishStatement: Statement = {
  name: 'finish_callback_attempt',
  text: `WITH attempt AS (
           UPDATE callback_attempts SET finished_at = now(), http_status = $3, error_class = $4
            WHERE task_id = $1 AND attempt = $2)
         UPDATE callbacks SET state = $5, next_attempt_at = now() + make_interval(secs => $6)
          WHERE task_id = $1 AND ((state = 'pending' AND attempts = $2) OR $5 IN ('delivered', 'stopped'))`,
};

/**
 * Records how an attempt ended and what becomes of the delivery. An attempt that another has overtaken (its worker was
 * taken for dead) changes the delivery only where it reached the receiver.
 *
 * @param nextDelayMs until the next attempt; undefined where there is none.
 */
export async function finishAttempt(
  database: Database,
  taskId: TaskId,
  attempt: number,
  result: AttemptResult,
  state: CallbackState,
  nextDelayMs: number | undefined,
): Promise<void> {
  await database.query(finishStatement, [
    taskId,
    attempt,
    result.httpStatus ?? null,
    result.errorClass ?? null,
    state,
    nextDelayMs === undefined ? null : nextDelayMs / 1000,
  ]);
}

const exhaustStatement: Statement = {
  name: 'exhaust_callback',
  text: `UPDATE callbacks SET state = 'exhausted', next_attempt_at = NULL WHERE task_id = $1 AND state = 'pending'`,
};

/** The schedule was used up by attempts whose workers died. */
export async function markExhausted(database: Database, taskId: TaskId): Promise<void> {
  await database.query(exhaustStatement, [taskId]);
}

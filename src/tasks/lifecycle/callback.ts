/**
 * What becomes of a task's callback (contract §4, §6): the outcome of an attempt is recorded, and its owner can have it
 * delivered once more. The receiver's answer is kept in memory while the database is unavailable, because if it is lost
 * the callback is sent twice. The attempt ends in time all the same: otherwise Temporal would end it and begin the next
 * attempt at the same time, without knowing when that is due.
 */
import { recordReceiverAnswer, recordReceiverFailure } from '../../accounts/callback-receivers.ts';
import { finishAttempt, readCallback, restartDelivery } from '../../callbacks/attempts.ts';
import type { AttemptResult } from '../../callbacks/attempts.ts';
import type { CallbackState } from '@darkroom/api/facts/callback';
import type { Database, Statement } from '../../database/database.ts';
import { unlessAborted } from '../../domain/waits.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { addEvent, lockTask } from '../record/timeline.ts';
import { persistWithRetry } from './persist-with-retry.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { requestWork } from '../outbox/outbox.ts';
import { missingTask } from '../record/read.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/**
 * How long an attempt waits for its record; together with the exchange well within its time
 * (workflows/activity-options.ts).
 */
export const RECORD_WITHIN_MS = 5_000;
/**
 * How long recording is retried, also after the attempt has ended. If the delivery may be over, the next attempt comes
 * after that.
 */
export const RECORD_RETRY_MS = 60_000;

/** The dependencies of the recording. */
export interface RecordDependencies {
  readonly database: Database;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'callbacks'>;
}

/** The attempt to record. */
export interface SentAttempt {
  readonly task: { readonly id: TaskId };
  readonly accountId: string;
  readonly attempt: number;
  /** The origin of the receiver's URL. */
  readonly origin: string;
}

/** The outcome of an attempt. */
export interface AttemptOutcome {
  readonly result: AttemptResult;
  /** The resulting state of the delivery. */
  readonly state: Exclude<CallbackState, 'waiting'>;
  /** Until the next attempt, counted from when the outcome was known; undefined if there is none. */
  readonly delayMs: number | undefined;
  /** The time of the result, by the monotonic clock. */
  readonly knownAt: number;
}

export interface RecordingBounds {
  /** The time that the attempt has left. */
  readonly withinMs: number;
  /** Milliseconds since an arbitrary moment; never adjusted. */
  readonly steadyClock: () => number;
}

/**
 * @returns false if the outcome was not recorded in time: recording is still being retried, or it failed, which was
 *   logged.
 */
export async function recordInTime(
  { database, logger, metrics }: RecordDependencies,
  sent: SentAttempt,
  outcome: AttemptOutcome,
  { withinMs, steadyClock }: RecordingBounds,
): Promise<boolean> {
  const isRecorded = persistWithRetry(AbortSignal.timeout(RECORD_RETRY_MS), () =>
    record(database, sent, outcome, steadyClock),
  ).then(
    () => {
      if (outcome.state !== 'pending') metrics.callbacks.ended(outcome.state);
      return true;
    },
    (err: unknown) => {
      logger.warn({ err, taskId: sent.task.id, attempt: sent.attempt }, 'recording a callback attempt failed');
      return false;
    },
  );
  const time = AbortSignal.timeout(Math.max(0, Math.min(RECORD_WITHIN_MS, Math.floor(withinMs))));
  return unlessAborted(isRecorded, time).catch(() => false);
}

/** Writes the record and the timeline event. */
async function record(
  database: Database,
  { task: { id: taskId }, accountId, attempt, origin }: SentAttempt,
  { result, state, delayMs, knownAt }: AttemptOutcome,
  steadyClock: () => number,
): Promise<void> {
  await database.transaction(async (transaction) => {
    // From here on the database's `now()` counts.
    const leftMs = delayMs === undefined ? undefined : Math.max(0, delayMs - (steadyClock() - knownAt));
    await lockTask(transaction, taskId);
    const finished = await finishAttempt(transaction, taskId, attempt, result, state, leftMs);
    // Already recorded by an attempt to write whose answer was lost.
    if (finished === undefined) return;
    const { durationMs, isDecisive } = finished;
    const { httpStatus, errorClass = 'unreachable' } = result;
    if (state === 'delivered') await recordReceiverAnswer(transaction, accountId, origin);
    if (state === 'exhausted' && isDecisive) await recordReceiverFailure(transaction, accountId, origin, result);
    const answer = httpStatus === undefined ? { errorClass } : { status: httpStatus };
    await addEvent(transaction, taskId, 'callback_attempted', { attempt, ...answer, durationMs });
  });
}

/** There is nothing to deliver; the message says why. */
export class NotRedeliverableError extends DarkroomError {
  override readonly name = 'NotRedeliverableError';
  override readonly kind = 'invalid_request';
}

const lockOwned: Statement = {
  name: 'lock_task_to_redeliver',
  text: 'SELECT status FROM tasks WHERE id = $1 AND account_id = $2 FOR NO KEY UPDATE',
};

/**
 * Requests another delivery: the schedule begins anew. While one is in progress nothing changes. The outbox row is
 * written in the same transaction, so it works while Temporal is down.
 *
 * @returns whether there is something for Temporal in the outbox, so that the launcher can be woken.
 * @throws {TaskNotFoundError} unknown, or another account's. @throws {TaskPrunedError}
 * @throws {NotRedeliverableError} not over yet, created without a callback, or its URL was erased.
 */
export async function redeliverCallback(database: Database, accountId: string, taskId: TaskId): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const [task] = await transaction.query<{ status: TaskStatus }>(lockOwned, [taskId, accountId]);
    if (task === undefined) throw await missingTask(transaction, taskId, accountId);
    const callback = await readCallback(transaction, taskId);
    if (callback === undefined) throw new NotRedeliverableError('the task was created without a callback');
    if (!isTerminal(task.status)) {
      throw new NotRedeliverableError('the task has not ended yet; its callback is delivered when it does');
    }
    if (callback.url === '') throw new NotRedeliverableError('the callback URL was erased with the task');
    if (!(await restartDelivery(transaction, taskId))) return false;
    await addEvent(transaction, taskId, 'callback_redelivery');
    await requestWork(transaction, 'deliver_callback', accountId, taskId);
    return true;
  });
}

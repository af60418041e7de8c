/**
 * Writing down what an attempt of a callback came to (contract §6). What the receiver answered is kept in hand while the
 * database is away, because an answer that is lost is a callback sent twice. The attempt ends in time all the same:
 * otherwise Temporal would end it, and begin the next beside it without knowing when that is due.
 */
import { receiverAnswered, receiverFailed } from '../src/accounts/callback-receivers.ts';
import { finishAttempt } from '../src/callbacks/attempts.ts';
import type { AttemptResult, CallbackState } from '../src/callbacks/attempts.ts';
import { unlessAborted } from '../src/domain/unless-aborted.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import { addEvent, lockTask } from '../src/tasks/record/timeline.ts';
import type { ActivityContext } from './context.ts';
import { keepAnswer } from './keep-answer.ts';

/** As long as an attempt waits for its record; with the exchange well within its time (workflows/activity-options.ts). */
export const RECORD_WITHIN_MS = 5_000;
/** As long as it is tried, also when the attempt has ended. Where a delivery may be over, the next comes after that. */
export const KEEP_WITHIN_MS = 60_000;

/** The attempt that is recorded. */
export interface SentAttempt {
  readonly task: { readonly id: TaskId };
  readonly accountId: string;
  readonly attempt: number;
  /** Of the receiver. */
  readonly origin: string;
}

/** What it came to. */
export interface AttemptOutcome {
  readonly result: AttemptResult;
  /** What becomes of the delivery. */
  readonly state: Exclude<CallbackState, 'waiting'>;
  /** Until the next attempt, from when the outcome was known; undefined where there is none. */
  readonly delayMs: number | undefined;
  /** By the steady clock. */
  readonly knownAt: number;
}

export interface RecordingBounds {
  /** What the attempt has left. */
  readonly withinMs: number;
  /** Milliseconds since any moment; never set. */
  readonly steadyClock: () => number;
}

/** @returns false where the outcome was not recorded in time: it is still tried, or it failed, which was logged. */
export async function recordInTime(
  context: ActivityContext,
  sent: SentAttempt,
  outcome: AttemptOutcome,
  { withinMs, steadyClock }: RecordingBounds,
): Promise<boolean> {
  const isRecorded = keepAnswer(AbortSignal.timeout(KEEP_WITHIN_MS), () =>
    record(context, sent, outcome, steadyClock),
  ).then(
    () => {
      if (outcome.state !== 'pending') context.metrics.callbacks.ended(outcome.state);
      return true;
    },
    (err: unknown) => {
      context.logger.warn({ err, taskId: sent.task.id, attempt: sent.attempt }, 'a callback could not be recorded');
      return false;
    },
  );
  const time = AbortSignal.timeout(Math.max(0, Math.min(RECORD_WITHIN_MS, Math.floor(withinMs))));
  return unlessAborted(isRecorded, time).catch(() => false);
}

/** In the record and in the timeline. */
async function record(
  { database }: ActivityContext,
  { task: { id: taskId }, accountId, attempt, origin }: SentAttempt,
  { result, state, delayMs, knownAt }: AttemptOutcome,
  steadyClock: () => number,
): Promise<void> {
  await database.transaction(async (transaction) => {
    // The database's `now()` is from here on.
    const leftMs = delayMs === undefined ? undefined : Math.max(0, delayMs - (steadyClock() - knownAt));
    await lockTask(transaction, taskId);
    const finished = await finishAttempt(transaction, taskId, attempt, result, state, leftMs);
    // Recorded by a try whose own answer was lost.
    if (finished === undefined) return;
    const { durationMs, isDecisive } = finished;
    const { httpStatus, errorClass = 'unreachable' } = result;
    if (state === 'delivered') await receiverAnswered(transaction, accountId, origin);
    if (state === 'exhausted' && isDecisive) await receiverFailed(transaction, accountId, origin, result);
    const answer = httpStatus === undefined ? { errorClass } : { status: httpStatus };
    await addEvent(transaction, taskId, 'callback_attempted', { attempt, ...answer, durationMs });
  });
}

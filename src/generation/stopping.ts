/**
 * Runs work that can be stopped: on cancellation, at the task's own deadline, and when the worker is about to stop. The
 * errors here are thrown as they are by whatever is stopped: `activities/failures.ts` makes of them what a history
 * keeps. That of a cancellation comes from outside.
 */
import type { Attempt } from './attempt.ts';
import { GenerationFailure } from './failure.ts';

/** What stops work, apart from the end of its attempt. */
export interface StopCauses {
  /** The deadline as a value of `performance.now()`; null: none. */
  readonly deadlineAt: number | null;
  /** Fires when the worker hands back its work. */
  readonly stopping: AbortSignal;
  /** Fires when a stopping worker has waited as long as it may. */
  readonly ending?: AbortSignal;
}

/** Signals that fire for fewer reasons. */
export interface StopSignals {
  /**
   * Fires when the task is cancelled, at the deadline, and when a stopping worker may wait no longer; not while it may
   * still wait, nor when only the attempt has been ended or paused.
   */
  readonly requested: AbortSignal;
  /** Fires only at the deadline. */
  readonly deadline: AbortSignal;
}

/**
 * @param work receives a signal that fires whenever it is to stop. Work that must not be cut off for some of these
 *   reasons uses one of the others.
 */
export async function runUntilStopped<T>(
  attempt: Pick<Attempt, 'signal' | 'isCancelRequested'>,
  { deadlineAt, stopping, ending }: StopCauses,
  work: (signal: AbortSignal, others: StopSignals) => Promise<T>,
): Promise<T> {
  const { signal: attemptSignal } = attempt;
  const [deadline, cancelRequest] = [new AbortController(), new AbortController()];
  const forwardRequest = (): void => {
    if (attempt.isCancelRequested()) cancelRequest.abort(attemptSignal.reason);
  };
  if (attemptSignal.aborted) forwardRequest();
  else attemptSignal.addEventListener('abort', forwardRequest, { once: true });
  const timer =
    deadlineAt === null
      ? undefined
      : setTimeout(() => deadline.abort(new DeadlinePassedError()), Math.max(0, deadlineAt - performance.now()));
  try {
    const requested = AbortSignal.any([
      cancelRequest.signal,
      deadline.signal,
      ...(ending === undefined ? [] : [ending]),
    ]);
    return await work(AbortSignal.any([attemptSignal, deadline.signal, stopping]), {
      requested,
      deadline: deadline.signal,
    });
  } catch (error) {
    // Whatever an aborted call throws, the reason of the abort is what counts.
    if (deadline.signal.aborted) throw new DeadlinePassedError({ cause: error });
    if (stopping.aborted && !attemptSignal.aborted && !(error instanceof GenerationFailure)) throw stopping.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    attemptSignal.removeEventListener('abort', forwardRequest);
  }
}

/** The task's deadline passed while it was in progress. */
export class DeadlinePassedError extends Error {
  override readonly name = 'DeadlinePassedError';

  constructor(options: { cause?: unknown } = {}) {
    super('the deadline passed', options);
  }
}

/** A stopping worker hands back its work: another worker gets it at once. */
export class WorkerStoppingError extends Error {
  override readonly name = 'WorkerStoppingError';

  constructor() {
    super('the worker stops');
  }
}

/** The work is no longer wanted: the task has ended, or was cancelled after the attempt had ended. */
export class TaskEndedError extends Error {
  override readonly name = 'TaskEndedError';

  constructor() {
    super('the task has ended');
  }
}

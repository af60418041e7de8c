/**
 * Keeping Temporal informed while an activity works, and stopping the work when it must: on cancellation, which only
 * heartbeats bring, and at the task's own deadline.
 */
import { Context } from '@temporalio/activity';

/** A third of the heartbeat time-out (workflows/activity-options.ts), so that one late beat is no death. */
const HEARTBEAT_INTERVAL_MS = 3_000;

/**
 * Runs work that heartbeats and can be stopped.
 *
 * @param deadlineAt when the work is aborted, by `performance.now()`; null for no deadline.
 * @param work is given a signal that fires on cancellation, at the deadline and when the worker stops, and one that
 *   fires at the deadline alone, for what must not be cut off otherwise.
 */
export async function withHeartbeats<T>(
  deadlineAt: number | null,
  work: (signal: AbortSignal, deadlineSignal: AbortSignal) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const deadline = new AbortController();
  const timer =
    deadlineAt === null
      ? undefined
      : setTimeout(() => deadline.abort(new DeadlinePassedError()), Math.max(0, deadlineAt - performance.now()));
  const beat = setInterval(() => context.heartbeat(), HEARTBEAT_INTERVAL_MS);
  // The first beat at once: an activity that was cancelled while it waited learns of it without delay.
  context.heartbeat();
  try {
    const signal = AbortSignal.any([context.cancellationSignal, deadline.signal]);
    return await work(signal, deadline.signal);
  } catch (error) {
    // Whatever an aborted call throws, the reason is the abort's.
    if (deadline.signal.aborted) throw new DeadlinePassedError({ cause: error });
    throw error;
  } finally {
    clearInterval(beat);
    clearTimeout(timer);
  }
}

/** The task's deadline passed while it was worked on. */
export class DeadlinePassedError extends Error {
  override readonly name = 'DeadlinePassedError';

  constructor(options: { cause?: unknown } = {}) {
    super('the deadline passed', options);
  }
}

/**
 * Keeping Temporal informed while an activity runs, and stopping its work when it must: on cancellation, which only
 * heartbeats bring, at the task's own deadline, and when the worker is about to end.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';

/** A third of the heartbeat time-out (workflows/activity-options.ts), so that one late beat is no death. */
const HEARTBEAT_INTERVAL_MS = 3_000;

/**
 * Runs an activity that heartbeats from its very beginning to its end, whatever it waits for: one that is taken for dead
 * while a database stands still would go on beside its own retry. A local activity has no heartbeats: Temporal's SDK warns
 * of each that it sends.
 */
export async function heartbeating<T>(activity: () => Promise<T>): Promise<T> {
  const context = Context.current();
  if (context.info.isLocal) return activity();
  const { heartbeatDetails } = context.info as { readonly heartbeatDetails?: object };
  // What an earlier attempt attached stays, until this one has something else to say: a beat without it would erase it.
  if (heartbeatDetails != null && !('unsentBy' in heartbeatDetails)) attached.set(context, heartbeatDetails);
  const beat = (): void => context.heartbeat(attached.get(context));
  const timer = setInterval(beat, HEARTBEAT_INTERVAL_MS);
  try {
    // The first beat at once: an activity that was cancelled while it waited learns of it without delay.
    beat();
    return await activity();
  } catch (error) {
    // An attempt that came to nothing has not sent it either. Not before its end: a beat that is late could overwrite
    // its announcement.
    if (isStatedUnsent() && !attached.has(context)) stateUnsent();
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Sends something along with every heartbeat from now on: the next attempt of this activity reads it
 * (`Context.current().info.heartbeatDetails`). It arrives within seconds, or with the attempt's failure.
 */
export function attachToHeartbeats(details: object): void {
  const context = Context.current();
  attached.set(context, details);
  context.heartbeat(details);
}

/** For the next attempt alone, and not for one after it. */
interface Unsent {
  /** The number of the attempt that says so. */
  readonly unsentBy: number;
}

/**
 * States for the next attempt that this one, which is about to end, has sent nothing, although an intent of it may have
 * been written down, or may yet be.
 */
export function stateUnsent(): void {
  attachToHeartbeats({ unsentBy: Context.current().info.attempt } satisfies Unsent);
}

/**
 * Whether the attempt right before this one stated that. A statement of an older one does not count: whoever came after it
 * may have sent the work, and a late heartbeat may have put the old statement back.
 */
export function isStatedUnsent(): boolean {
  const { heartbeatDetails, attempt } = Context.current().info;
  return ((heartbeatDetails ?? {}) as Partial<Unsent>).unsentBy === attempt - 1;
}

const attached = new WeakMap<Context, object>();

/** Fewer reasons to stop. */
export interface StopSignals {
  /**
   * Fires when the task is cancelled, at the deadline, and when a worker that stops may wait no longer; not while it may,
   * nor when Temporal has only ended or paused the attempt.
   */
  readonly requested: AbortSignal;
  /** Fires at the deadline alone. */
  readonly deadline: AbortSignal;
}

/**
 * Runs work that can be stopped.
 *
 * @param deadlineAt when the work is aborted, by `performance.now()`; null for no deadline.
 * @param stopping fires when the worker hands back what it has in hand.
 * @param work is given a signal that fires whenever it is to end. What must not be cut off for each of these reasons is
 *   given one of the others.
 * @param ending fires when a worker that stops has waited as long as it may.
 */
export async function untilStopped<T>(
  deadlineAt: number | null,
  stopping: AbortSignal,
  work: (signal: AbortSignal, others: StopSignals) => Promise<T>,
  ending?: AbortSignal,
): Promise<T> {
  const context = Context.current();
  const { cancellationSignal } = context;
  const [deadline, cancelRequest] = [new AbortController(), new AbortController()];
  const forwardRequest = (): void => {
    if (context.cancellationDetails?.cancelRequested !== false) cancelRequest.abort(cancellationSignal.reason);
  };
  if (cancellationSignal.aborted) forwardRequest();
  else cancellationSignal.addEventListener('abort', forwardRequest, { once: true });
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
    return await work(AbortSignal.any([cancellationSignal, deadline.signal, stopping]), {
      requested,
      deadline: deadline.signal,
    });
  } catch (error) {
    // Whatever an aborted call throws, the reason is the abort's.
    if (deadline.signal.aborted) throw new DeadlinePassedError({ cause: error });
    if (stopping.aborted && !cancellationSignal.aborted && !(error instanceof ApplicationFailure))
      throw stopping.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    cancellationSignal.removeEventListener('abort', forwardRequest);
  }
}

/** The task's deadline passed while it was worked on. */
export class DeadlinePassedError extends Error {
  override readonly name = 'DeadlinePassedError';

  constructor(options: { cause?: unknown } = {}) {
    super('the deadline passed', options);
  }
}

/** Why a worker that ends gives back what it has in hand: another worker is given it at once. */
export function workerStops(): ApplicationFailure {
  return ApplicationFailure.retryable('the worker stops', 'WorkerShutdown');
}

/**
 * Sends heartbeats to Temporal while an activity runs, and stops its work when necessary: on cancellation, which
 * arrives only through heartbeats, at the task's own deadline, and when the worker is about to stop.
 */
import { Context } from '@temporalio/activity';
import { GenerationFailure } from '../src/generation/failure.ts';
import { DeadlinePassedError } from '../src/generation/stopped.ts';

/** A third of the heartbeat time-out (workflows/activity-options.ts), so that one late heartbeat is tolerated. */
const HEARTBEAT_INTERVAL_MS = 3_000;

/**
 * Runs an activity that heartbeats from its very beginning to its end, whatever it waits for: an activity that timed
 * out while a database hangs would run beside its own retry. A local activity has no heartbeats: Temporal's SDK logs a
 * warning for each one that it sends.
 */
export async function heartbeating<T>(activity: () => Promise<T>): Promise<T> {
  const context = Context.current();
  if (context.info.isLocal) return activity();
  const { heartbeatDetails } = context.info as { readonly heartbeatDetails?: object };
  // Details attached by an earlier attempt stay until this one has its own: a heartbeat without them would erase them.
  if (heartbeatDetails != null && !('unsentBy' in heartbeatDetails)) attached.set(context, heartbeatDetails);
  const beat = (): void => context.heartbeat(attached.get(context));
  const timer = setInterval(beat, HEARTBEAT_INTERVAL_MS);
  try {
    // The first heartbeat at once: an activity that was cancelled while it waited learns of it without delay.
    beat();
    return await activity();
  } catch (error) {
    // An attempt that failed before sending states so again. Only at its end, because a late heartbeat could overwrite
    // its announcement.
    if (isStatedUnsent() && !attached.has(context)) stateUnsent();
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Attaches details to every heartbeat from now on: the next attempt of this activity reads it
 * (`Context.current().info.heartbeatDetails`). It arrives within seconds, or with the attempt's failure.
 */
export function attachToHeartbeats(details: object): void {
  const context = Context.current();
  attached.set(context, details);
  context.heartbeat(details);
}

/** For the next attempt only, not for later ones. */
interface Unsent {
  /** The number of the attempt that states this. */
  readonly unsentBy: number;
}

/**
 * States for the next attempt that this one, which is about to end, has sent nothing, although its intent may have
 * been recorded, or may still be.
 */
export function stateUnsent(): void {
  attachToHeartbeats({ unsentBy: Context.current().info.attempt } satisfies Unsent);
}

/**
 * Whether the immediately preceding attempt stated that. A statement of an older attempt does not count: a later
 * attempt may have sent the work, and a late heartbeat may have restored the old statement.
 */
export function isStatedUnsent(): boolean {
  const { heartbeatDetails, attempt } = Context.current().info;
  return ((heartbeatDetails ?? {}) as Partial<Unsent>).unsentBy === attempt - 1;
}

const attached = new WeakMap<Context, object>();

/** Signals that fire for fewer reasons. */
export interface StopSignals {
  /**
   * Fires when the task is cancelled, at the deadline, and when a stopping worker may wait no longer; not while it may
   * still wait, nor when Temporal has only ended or paused the attempt.
   */
  readonly requested: AbortSignal;
  /** Fires only at the deadline. */
  readonly deadline: AbortSignal;
}

/**
 * Runs work that can be stopped.
 *
 * @param deadlineAt when the work is aborted, by `performance.now()`; null for no deadline.
 * @param stopping fires when the worker hands back its work.
 * @param work receives a signal that fires whenever it is to stop. Work that must not be cut off for some of these
 *   reasons uses one of the others.
 * @param ending fires when a stopping worker has waited as long as it may.
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
    // Whatever an aborted call throws, the reason of the abort is what counts.
    if (deadline.signal.aborted) throw new DeadlinePassedError({ cause: error });
    if (stopping.aborted && !cancellationSignal.aborted && !(error instanceof GenerationFailure)) throw stopping.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    cancellationSignal.removeEventListener('abort', forwardRequest);
  }
}

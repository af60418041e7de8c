/**
 * Sends heartbeats to Temporal while an activity runs, and describes its attempt to the code that does the work
 * (src/generation/attempt.ts): it learns of a cancellation only through heartbeats.
 */
import { Context } from '@temporalio/activity';
import { isTaskId } from '../src/domain/workflow-ids.ts';
import { isLasting, isStatedUnsent, stateUnsent } from '../src/generation/announced-submit.ts';
import type { Attempt } from '../src/generation/attempt.ts';
import { runUntilStopped } from '../src/generation/stopping.ts';
import type { CancelFeed } from '../src/tasks/record/cancel-feed.ts';
import type { ActivityContext } from './context.ts';

/**
 * The interval between heartbeats, as a part of the heartbeat time-out (workflows/activity-options.ts): a third, and a
 * little less, so that one late heartbeat is tolerated.
 */
const INTERVAL_OF_TIMEOUT = 0.3;

/**
 * What the SDK knows of an attempt's heartbeats; details are always an object here
 * (src/generation/announced-submit.ts).
 */
interface HeartbeatInfo {
  readonly heartbeatDetails?: object;
  readonly heartbeatTimeoutMs?: number;
}

/**
 * Runs an activity and sends heartbeats as long as it runs, whatever it waits for: without them an activity would time
 * out while a database hangs, and run at the same time as its own retry. The first one is sent after the first
 * interval, because each is a billed action of Temporal Cloud and most activities are shorter. An activity without a
 * heartbeat time-out needs none. Local activities send none, because Temporal's SDK would log a warning for each.
 *
 * @param cancels of tasks: a heartbeat that learns of a cancellation is sent at once when the task has been cancelled.
 */
export async function heartbeating<T>(activity: () => Promise<T>, cancels?: CancelFeed): Promise<T> {
  const context = Context.current();
  if (context.info.isLocal) return activity();
  const { heartbeatDetails, heartbeatTimeoutMs = 0 }: HeartbeatInfo = context.info;
  // Details attached by an earlier attempt stay until this one has its own: a heartbeat without them would erase them.
  if (heartbeatDetails != null && isLasting(heartbeatDetails)) attached.set(context, heartbeatDetails);
  const beat = (): void => context.heartbeat(attached.get(context));
  const timer = heartbeatTimeoutMs > 0 ? setInterval(beat, heartbeatTimeoutMs * INTERVAL_OF_TIMEOUT) : undefined;
  const unwatch = cancels === undefined ? undefined : beatOnCancel(context, cancels, beat);
  try {
    return await activity();
  } catch (error) {
    // An attempt that failed before sending states so again. Only at its end, because a late heartbeat could overwrite
    // its announcement.
    const attempt = { number: context.info.attempt, earlierDetails: heartbeatDetails, heartbeat: sendsFrom(context) };
    if (isStatedUnsent(attempt) && !attached.has(context)) stateUnsent(attempt);
    throw error;
  } finally {
    unwatch?.();
    clearInterval(timer);
  }
}

/** The workflow of a task has its id. The cancel may reach Temporal later than the row, so it is asked repeatedly. */
function beatOnCancel({ info, cancellationSignal }: Context, cancels: CancelFeed, beat: () => void): () => void {
  const taskId = info.workflowExecution?.workflowId ?? '';
  if (!isTaskId(taskId)) return () => {};
  return cancels.watch(taskId, () => {
    if (!cancellationSignal.aborted) beat();
  });
}

/** The attempt of the activity that is running. */
export function currentAttempt({ recordHeartbeat }: Pick<ActivityContext, 'recordHeartbeat'>): Attempt {
  const context = Context.current();
  const { info } = context;
  return {
    ...cancellationOf(context),
    number: info.attempt,
    runId: info.workflowExecution?.runId,
    stepId: info.activityId,
    isLocal: info.isLocal,
    earlierDetails: info.heartbeatDetails,
    heartbeat: sendsFrom(context),
    attach: (details) => void attached.set(context, details),
    recordHeartbeat: (details) => recordHeartbeat(info.taskToken, details),
  };
}

/** Runs a pass, which has no deadline of its own, until it is cancelled or the worker stops. */
export function untilWorkerStops<T>(
  { stopping }: Pick<ActivityContext, 'stopping'>,
  pass: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return runUntilStopped(cancellationOf(Context.current()), { deadlineAt: null, stopping }, pass);
}

function cancellationOf(context: Context): Pick<Attempt, 'signal' | 'isCancelRequested'> {
  return {
    signal: context.cancellationSignal,
    isCancelRequested: () => context.cancellationDetails?.cancelRequested !== false,
  };
}

/** @returns attaches details to every heartbeat from now on, and sends one. */
function sendsFrom(context: Context): Attempt['heartbeat'] {
  return (details) => {
    attached.set(context, details);
    context.heartbeat(details);
  };
}

const attached = new WeakMap<Context, object>();

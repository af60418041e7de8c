/**
 * Sends heartbeats to Temporal while an activity runs, and describes its attempt to the code that does the work
 * (src/generation/attempt.ts): it learns of a cancellation only through heartbeats.
 */
import { Context } from '@temporalio/activity';
import { isLasting, isStatedUnsent, stateUnsent } from '../src/generation/announcement.ts';
import type { Attempt } from '../src/generation/attempt.ts';
import { runUntilStopped } from '../src/generation/run-until-stopped.ts';
import type { ActivityContext } from './context.ts';

/**
 * The interval between heartbeats: a third of the heartbeat time-out (workflows/activity-options.ts), so that one late
 * heartbeat is tolerated.
 */
const HEARTBEAT_INTERVAL_MS = 3_000;

/**
 * Runs an activity and sends heartbeats from its beginning to its end, whatever it waits for: without them an activity
 * would time out while a database hangs, and run at the same time as its own retry. Local activities send none, because
 * Temporal's SDK would log a warning for each.
 *
 * @param recordFirst sends the first heartbeat, for an activity that announces something by a heartbeat of its own: one
 *   of the SDK, whose end cannot be waited for, could arrive after the announcement and erase it.
 */
export async function heartbeating<T>(
  activity: () => Promise<T>,
  recordFirst?: ActivityContext['recordHeartbeat'],
): Promise<T> {
  const context = Context.current();
  if (context.info.isLocal) return activity();
  const { heartbeatDetails }: { readonly heartbeatDetails?: object } = context.info;
  // Details attached by an earlier attempt stay until this one has its own: a heartbeat without them would erase them.
  if (heartbeatDetails != null && isLasting(heartbeatDetails)) attached.set(context, heartbeatDetails);
  const beat = (): void => context.heartbeat(attached.get(context));
  const timer = setInterval(beat, HEARTBEAT_INTERVAL_MS);
  try {
    // The first heartbeat at once: an activity that was cancelled while it waited learns of it without delay.
    if (recordFirst === undefined) beat();
    else
      firstBeats.set(
        context,
        recordFirst(context.info.taskToken, attached.get(context)).catch(() => false),
      );
    return await activity();
  } catch (error) {
    // An attempt that failed before sending states so again. Only at its end, because a late heartbeat could overwrite
    // its announcement.
    const attempt = { number: context.info.attempt, earlierDetails: heartbeatDetails, heartbeat: attachTo(context) };
    if (isStatedUnsent(attempt) && !attached.has(context)) stateUnsent(attempt);
    throw error;
  } finally {
    clearInterval(timer);
  }
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
    heartbeat: attachTo(context),
    async recordHeartbeat(details) {
      await firstBeats.get(context);
      return recordHeartbeat(info.taskToken, details);
    },
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
function attachTo(context: Context): Attempt['heartbeat'] {
  return (details) => {
    attached.set(context, details);
    context.heartbeat(details);
  };
}

const attached = new WeakMap<Context, object>();

/** First heartbeats that did not go through the SDK. They never reject. */
const firstBeats = new WeakMap<Context, Promise<unknown>>();

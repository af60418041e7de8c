/**
 * What is recorded before a submit that must not be repeated, and withdrawn if nothing was sent: the intent in the
 * database, and its announcement to Temporal. The announcement is what one attempt leaves for the next one, and for a
 * later run, in its heartbeats: to which upstream the work is about to be sent, or that nothing was sent
 * (docs/decisions/0005, docs/decisions/0004).
 */
import pRetry from 'p-retry';
import { clearIntent, declareIntent, reuseIntent } from '../tasks/lifecycle/intents.ts';
import type { DeclaredIntent } from '../tasks/lifecycle/intents.ts';
import { persistWithRetry } from '../tasks/lifecycle/persist-with-retry.ts';
import { retryableFailure } from './failure.ts';
import type { Attempt, SubmitAttempt } from './attempt.ts';
import type { TaskRoute } from './task-route.ts';

/**
 * How long to try to clear an intent, in milliseconds, even if the activity was cancelled: a remaining intent would
 * wrongly state that work may have been sent.
 */
export const CLEAR_WITHIN_MS = 15_000;

/**
 * Records to which upstream the work is about to be sent, unless repeating it there does no harm and no other upstream
 * is possible.
 *
 * @returns undefined: it is not announced.
 */
export async function announce(attempt: SubmitAttempt, route: TaskRoute): Promise<DeclaredIntent | undefined> {
  const { context, task, routes, triedIndex } = attempt;
  const { isSubmitRepeatable } = route.provider;
  if (isSubmitRepeatable && (routes.length === 1 || triedIndex !== undefined)) return undefined;
  const intent = await declare(attempt, route).catch((error: unknown) => {
    // Whether it was recorded is not known, but nothing was sent.
    stateUnsent(attempt);
    throw error;
  });
  // It belongs to another attempt, which may be in progress, or about to be withdrawn: the next attempt waits for its
  // outcome.
  if (intent === undefined) throw retryableFailure('provider_unavailable');
  const submit = { upstreamIndex: route.upstreamIndex, rejections: intent.rejections };
  const isCurrent = await announceSubmit(attempt, submit).catch((error: unknown) => {
    context.logger.warn({ err: error, taskId: task.id }, 'submit could not be announced and was not sent');
    return false;
  });
  if (isCurrent) return intent;
  await clearUnsent(attempt, intent);
  throw retryableFailure('provider_unavailable');
}

/**
 * Clears an intent for which nothing was sent, because Temporal did not respond or this attempt has ended. The next
 * attempt may then send.
 */
async function clearUnsent(attempt: SubmitAttempt, intent: DeclaredIntent): Promise<void> {
  const { context, task } = attempt;
  try {
    await persistWithRetry(AbortSignal.timeout(CLEAR_WITHIN_MS), () => clearIntent(context.database, task.id, intent));
    withdrawSubmit(attempt);
  } catch (error) {
    context.logger.warn({ err: error, taskId: task.id }, 'clearing the intent of an unsent submit failed');
    stateUnsent(attempt);
  }
}

/**
 * Records the intent, or reuses that of the previous attempt.
 *
 * @returns undefined: there is one that may have been sent.
 */
async function declare(attempt: SubmitAttempt, route: TaskRoute): Promise<DeclaredIntent | undefined> {
  const { context, task } = attempt;
  const declared = await declareIntent(context.database, task.id, route);
  if (declared !== undefined || !isStatedUnsent(attempt)) return declared;
  return reuseIntent(context.database, task.id, route);
}

/**
 * Records that an upstream has, or may have, work that was not announced: it may bill it, whatever happens to the task
 * (src/billing/operator-costs.ts). Never throws, because the error that led here is the one to throw.
 */
export async function recordPossibleWork({ context, task }: SubmitAttempt, route: TaskRoute): Promise<void> {
  if (route.gated === undefined) return;
  const written = persistWithRetry(AbortSignal.timeout(CLEAR_WITHIN_MS), () =>
    declareIntent(context.database, task.id, route),
  );
  await written.catch((err: unknown) =>
    context.logger.warn({ err, taskId: task.id }, 'recording the upstream of a task failed'),
  );
}

/** What is known outside the database about a submit that is about to be sent. */
interface AnnouncedSubmit {
  /** Index of the upstream in the route's list. */
  readonly upstreamIndex: number;
  /** How often the task had been rejected before: if more rejections are recorded, this submit was rejected as well. */
  readonly rejections: number;
}

/** For the next attempt only, not for later ones. */
interface Unsent {
  /** The number of the attempt that states this. */
  readonly unsentBy: number;
}

/** The retries end within the time after which the attempt is considered dead. */
const ANNOUNCE_RETRY = { retries: 2, minTimeout: 200, maxTimeout: 500 };

/**
 * Announces to which upstream the work is about to be sent, so that this is known even if the database loses the intent.
 * It is recorded when this returns, whatever happens to the worker after that.
 *
 * @returns false if this attempt has ended and nothing may be sent.
 * @throws if it could not be recorded.
 */
async function announceSubmit(attempt: Attempt, announced: AnnouncedSubmit): Promise<boolean> {
  // Recorded once, by the call that is waited for: the next heartbeats only repeat it.
  attempt.attach(announced);
  return pRetry(() => attempt.recordHeartbeat(announced), ANNOUNCE_RETRY);
}

/** Nothing was sent, or it was rejected, and the database has recorded that. */
export function withdrawSubmit(attempt: Pick<Attempt, 'heartbeat'>): void {
  attempt.heartbeat({});
}

/** The submit that an earlier attempt announced, and did not withdraw. */
export function announcedSubmit({ earlierDetails }: Pick<Attempt, 'earlierDetails'>): AnnouncedSubmit | undefined {
  const { upstreamIndex, rejections = 0 } = (earlierDetails ?? {}) as Partial<AnnouncedSubmit>;
  return upstreamIndex === undefined ? undefined : { upstreamIndex, rejections };
}

/**
 * States for the next attempt that this one, which is about to end, has sent nothing, although its intent may have
 * been recorded, or may still be.
 */
export function stateUnsent(attempt: Pick<Attempt, 'heartbeat' | 'number'>): void {
  attempt.heartbeat({ unsentBy: attempt.number } satisfies Unsent);
}

/**
 * Whether the immediately preceding attempt stated that. A statement of an older attempt does not count: a later
 * attempt may have sent the work, and a late heartbeat may have restored the old statement.
 */
export function isStatedUnsent({ earlierDetails, number }: Pick<Attempt, 'earlierDetails' | 'number'>): boolean {
  return ((earlierDetails ?? {}) as Partial<Unsent>).unsentBy === number - 1;
}

/** Whether the details of an earlier attempt are for every later one, so that the heartbeats of this one repeat them. */
export function isLasting(earlierDetails: object): boolean {
  return !('unsentBy' in earlierDetails);
}

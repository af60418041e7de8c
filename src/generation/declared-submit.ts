/**
 * What is recorded before a submit that must not be repeated, and withdrawn if nothing was sent: the intent in the
 * database, and its announcement to Temporal.
 */
import { clearIntent, declareIntent, reuseIntent } from '../tasks/lifecycle/intents.ts';
import type { DeclaredIntent } from '../tasks/lifecycle/intents.ts';
import { persistWithRetry } from '../tasks/lifecycle/persist-with-retry.ts';
import { announceSubmit, isStatedUnsent, stateUnsent, withdrawSubmit } from './announcement.ts';
import { retryableFailure } from './failure.ts';
import type { SubmitAttempt } from './submit-attempt.ts';
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

/** One attempt at a text call in the background (src/text/background/run.ts). */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { backoffMs } from '../src/domain/backoff.ts';
import type { BackgroundContext } from '../src/text/background/context.ts';
import { runBackgroundCall } from '../src/text/background/run.ts';
import type { AttemptStops } from '../src/text/background/run.ts';
import type { ApiActivities } from '../workflows/contracts.ts';

/**
 * The wait before another attempt, in milliseconds: for a rate limit, of an upstream or of the account, and for an earlier
 * attempt that is still alive.
 */
const WAIT = { firstMs: 1_000, maxMs: 30_000 } as const;

/**
 * The wait of a call whose turn it is next. There are few of them: no more are admitted than may run
 * (src/text/background/queue.ts).
 */
const TURN_MS = 1_000;

/** Spread, so that calls that were accepted together are not tried together. */
function waitMs(attempt: number): number {
  return Math.round(backoffMs(WAIT, Math.min(attempt - 1, 10)) * (0.5 + Math.random() / 2));
}

/**
 * Only the process stops an attempt. That Temporal ends, pauses or cancels it has no effect: what is cancelled is the
 * row, and an attempt that is alive is waited for by the next one.
 */
export function createAnswerInBackground(
  context: BackgroundContext,
  stops: AttemptStops,
): ApiActivities['answerInBackground'] {
  return async ({ callId }) => {
    const result = await runBackgroundCall(context, callId, stops);
    if (result.kind === 'ended') return;
    // A retry adds nothing to the history, unlike a timer of the workflow.
    const nextRetryDelay =
      result.kind === 'turn' ? TURN_MS : Math.max(result.ms, waitMs(Context.current().info.attempt));
    const details = { type: 'TextCallWaits', nonRetryable: false, nextRetryDelay };
    throw ApplicationFailure.create({ message: 'the call has to wait', ...details });
  };
}

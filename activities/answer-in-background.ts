/** One attempt at a text call in the background (src/text/background/run.ts). */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { backoffMs } from '../src/domain/backoff.ts';
import type { BackgroundContext } from '../src/text/background/context.ts';
import { runBackgroundCall } from '../src/text/background/run.ts';
import type { ApiActivities } from '../workflows/contracts.ts';
import { untilWorkerStops } from './heartbeat.ts';

/**
 * The wait before another attempt, in milliseconds: a second at first, and half a minute for the calls of an account
 * that has many more than it may make at once.
 */
const WAIT = { firstMs: 1_000, maxMs: 30_000 } as const;

/** Spread, so that calls that were accepted together are not tried together. */
function waitMs(attempt: number): number {
  return Math.round(backoffMs(WAIT, Math.min(attempt - 1, 10)) * (0.5 + Math.random() / 2));
}

/** @param stopping aborted when the process stops. */
export function createAnswerInBackground(
  context: BackgroundContext,
  stopping: AbortSignal,
): ApiActivities['answerInBackground'] {
  return async ({ callId }) => {
    const result = await untilWorkerStops({ stopping }, (signal) => runBackgroundCall(context, callId, signal));
    if (result.kind === 'ended') return;
    // A retry adds nothing to the history, unlike a timer of the workflow.
    const nextRetryDelay = Math.max(result.ms, waitMs(Context.current().info.attempt));
    const details = { type: 'TextCallWaits', nonRetryable: false, nextRetryDelay };
    throw ApplicationFailure.create({ message: 'the call has to wait', ...details });
  };
}

/** What the outcome of a submit shows about the upstream itself: reported to its gate, which all tasks pass. */
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../providers/provider.ts';
import type { Health } from '../upstreams/gate.ts';
import type { SubmitAttempt } from './attempt.ts';
import type { TaskRoute } from './task-route.ts';

/** How long the credential of a member is left alone after it was rejected, in milliseconds. */
const COOLDOWN_MS = { unauthorized: 300_000, out_of_credit: 900_000 } as const;

/**
 * Statuses that say nothing about the upstream's own condition: this work took too long, or it already knows the work.
 */
const STATUSES_OF_THE_WORK: readonly number[] = [408, 409, 499];

/** What an error shows about the upstream's health; undefined if we ended the request ourselves. */
export function healthOf(error: unknown, isMember: boolean): Health | undefined {
  if (error instanceof ProviderFailure) return 'answered';
  if (error instanceof ProviderUnknown) {
    return error.status !== undefined && STATUSES_OF_THE_WORK.includes(error.status) ? 'answered' : 'failed';
  }
  if (!(error instanceof ProviderRejection)) return undefined;
  const { condition, retryAfterMs = 0 } = error;
  if (condition === 'busy') return { pauseMs: retryAfterMs };
  if (condition === 'down') return 'failed';
  // Tasks of other members go on; without one, each task has to find out by itself that the problem is solved.
  if (condition !== undefined) return { pauseMs: isMember ? COOLDOWN_MS[condition] : 0, reason: condition };
  // A submit that we gave up before it was sent.
  return retryAfterMs === 0 && error.reason === 'provider_unavailable' ? undefined : 'answered';
}

export async function reportHealth(
  { context }: SubmitAttempt,
  { gated, upstreamName }: TaskRoute,
  health: Health | undefined,
): Promise<void> {
  if (health === undefined) return;
  const outcome = typeof health === 'string' ? health : health.reason === undefined ? 'paused' : 'answered';
  context.metrics.outgoing.upstreamRequested(upstreamName, outcome);
  if (gated !== undefined) await context.upstreams.gate.report(gated, health);
}

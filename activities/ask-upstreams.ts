/**
 * Asks the upstreams of a route in their order until one takes a task. The next one is asked only after a definite
 * refusal, or where one is known to be refusing everybody (architecture: "Falling back to another upstream happens only
 * after a definite refusal"). Where all refuse for now the task waits outside the worker and is tried again.
 */
import { Context } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import type { WorkingTask } from '../src/tasks/work.ts';
import type { SubmitResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { passing, permanent } from './failures.ts';
import { leaveUpstream } from './leave-upstream.ts';
import { submitTo } from './submit-to.ts';
import type { Obstacle } from './submit-to.ts';
import type { TaskRoute } from './task-route.ts';

/** Providers that keep refusing are given up after this many refusals by each: with their own pauses some minutes. */
const MAX_REFUSALS = 6;
/** Who waits for a slot asks again after a fifth of the time that it has waited, within these bounds: many may wait. */
const SHORTEST_SLOT_WAIT_MS = 1_000;
const LONGEST_SLOT_WAIT_MS = 4_000;
const SLOT_WAIT_PART = 0.2;
/** Those who wait for the same thing do not all come back at the same moment. */
const SPREAD_MS = 1_000;

/** One attempt of the activity. */
export interface SubmitAttempt {
  readonly context: ActivityContext;
  readonly task: WorkingTask;
  readonly routes: readonly TaskRoute[];
  /** The upstream that an earlier attempt may have given the work to: no other may get it. */
  readonly triedPlace: number | undefined;
  /** Fires on cancellation, at the deadline and when the worker stops. */
  readonly stopSignal: AbortSignal;
  /** Fires at the deadline alone. */
  readonly deadlineSignal: AbortSignal;
  /** Whether a place at the provider was taken before its time began to run. */
  readonly hasPlace: boolean;
  /** The attempt's own folder. */
  readonly scratch: string;
  /** Is told how much is done, 0 to 1. */
  readonly onProgress: (fraction: number) => void;
}

/** @throws {ApplicationFailure} none took it: for now, or for good. */
export async function askUpstreams(attempt: SubmitAttempt): Promise<SubmitResult> {
  const { context, routes, triedPlace, task } = attempt;
  const candidates = triedPlace === undefined ? routes : routes.filter(({ place }) => place === triedPlace);
  const obstacles: Obstacle[] = [];
  for (const route of candidates) {
    if (triedPlace !== undefined && !route.provider.isSubmitRepeatable) {
      await leaveUpstream(context, task.id, route);
      throw permanent('outcome_unknown');
    }
    const answer = await submitTo(attempt, route);
    if ('result' in answer) return answer.result;
    obstacles.push(answer);
    if (answer.endsSearch) break;
  }
  throw failureOf(obstacles, candidates.length, task);
}

/** What becomes of a task that nobody took. */
function failureOf(obstacles: readonly Obstacle[], upstreams: number, task: WorkingTask): ApplicationFailure {
  const last = obstacles.at(-1);
  if (last === undefined) return permanent('model_unavailable');
  if (last.kind === 'full') return passing('provider_unavailable', spread(slotWaitMs()));
  if (last.kind === 'refused' && last.endsSearch) return permanent(last.reason, last.fault);

  const waits = obstacles.flatMap((obstacle) => (obstacle.kind === 'full' ? [] : (obstacle.waitMs ?? [])));
  const refusals = obstacles.filter((obstacle) => obstacle.kind === 'refused');
  if (waits.length === 0) return permanent(refusals.at(-1)?.reason ?? 'provider_unavailable');
  const isGivenUp = refusals.some(({ refusalsSoFar }) => refusalsSoFar >= MAX_REFUSALS * upstreams);
  const waitMs = spread(Math.min(...waits));
  const isTooLate = task.deadlineAt !== null && performance.now() + waitMs >= task.deadlineAt;
  if (isGivenUp || isTooLate) return permanent('provider_unavailable');
  return passing('provider_unavailable', waitMs);
}

/** At once where it was we who gave up; otherwise a little later than asked. */
function spread(waitMs: number): number {
  return waitMs === 0 ? 0 : Math.round(waitMs + Math.random() * SPREAD_MS);
}

function slotWaitMs(): number {
  const waitedMs = Date.now() - Context.current().info.scheduledTimestampMs;
  return Math.min(Math.max(waitedMs * SLOT_WAIT_PART, SHORTEST_SLOT_WAIT_MS), LONGEST_SLOT_WAIT_MS);
}

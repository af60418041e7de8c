/**
 * Asks the upstreams of a route in their order until one takes a task. The next one is asked only after a definite
 * rejection, or where one is known to reject everybody for now (architecture, "Submitting is split from waiting, and never
 * repeated blindly"). Where all reject for now the task waits outside the worker and is tried again.
 */
import { ApplicationFailure } from '@temporalio/common';
import type { WorkingTask } from '../src/tasks/lifecycle/transitions.ts';
import type { SubmitResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { passing, permanent } from './failures.ts';
import type { StopSignals } from './heartbeat.ts';
import { leaveUpstream } from './leave-upstream.ts';
import { submitTo } from './submit-to.ts';
import type { Obstacle } from './submit-to.ts';
import type { TaskRoute } from './task-route.ts';

/** Providers that keep refusing are given up after this many refusals by each: with their own pauses some minutes. */
const MAX_REFUSALS = 6;
/**
 * Who waits for a slot is woken when it has one. Whatever the wake-up may be lost with, the task looks again after as long
 * as it has waited already, at the earliest after this; so often that a day of waiting is some ten looks.
 */
const LEAST_RECHECK_MS = 60_000;
/** The deadline is the activity's to notice, which then must not be early. */
const AFTER_DEADLINE_MS = 500;
/** A workflow of an earlier release does not wait: the activity is retried, which finds the slot that it was given. */
const RETRY_MS = 4_000;
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
  /** Fire for fewer reasons. */
  readonly stopSignals: StopSignals;
  /** Whether a place at the provider was taken before its time began to run. */
  readonly hasPlace: boolean;
  /** Whether the workflow waits where an upstream is at its cap. */
  readonly mayWait: boolean;
  /** The attempt's own folder. */
  readonly scratch: string;
  /** Is told how much is done, 0 to 1. */
  readonly onProgress: (fraction: number) => void;
}

/** @throws {ApplicationFailure} none took it: for now, or for good. */
export async function askUpstreams(attempt: SubmitAttempt): Promise<SubmitResult> {
  const { routes, triedPlace } = attempt;
  const candidates = triedPlace === undefined ? routes : routes.filter(({ place }) => place === triedPlace);
  try {
    const { result, route } = await search(attempt, candidates);
    await leaveSlots(attempt, route);
    return result;
  } catch (error) {
    // An attempt that ends for a passing reason finds what it had when it comes again.
    if (error instanceof ApplicationFailure && error.nonRetryable === true) await leaveSlots(attempt);
    throw error;
  }
}

/** @returns what came of it, and the upstream where the task is now. */
async function search(
  attempt: SubmitAttempt,
  candidates: readonly TaskRoute[],
): Promise<{ readonly result: SubmitResult; readonly route: TaskRoute }> {
  const { context, triedPlace, task, mayWait } = attempt;
  const obstacles: Obstacle[] = [];
  for (const route of candidates) {
    if (triedPlace !== undefined && !route.provider.isSubmitRepeatable) {
      await leaveUpstream(context, task.id, route);
      throw permanent('outcome_unknown');
    }
    const answer = await submitTo(attempt, route);
    if ('result' in answer) return { result: answer.result, route };
    if (answer.kind === 'full' && mayWait) {
      return { result: { kind: 'waiting', waitMs: recheckMs(task, answer.waitedMs) }, route };
    }
    obstacles.push(answer);
    if (answer.endsSearch) break;
  }
  throw failureOf(obstacles, candidates.length, task);
}

/** Gives up what the task has, or waits for, at upstreams with a cap. @param except where it is from now on. */
async function leaveSlots({ context, routes, task }: SubmitAttempt, except?: TaskRoute): Promise<void> {
  for (const { place, gated } of routes) {
    if (place !== except?.place && gated !== undefined) await context.upstreams.gate.leave(gated, task.id);
  }
}

function recheckMs({ deadlineAt }: WorkingTask, waitedMs: number): number {
  const leftMs = deadlineAt === null ? Infinity : deadlineAt - performance.now();
  return Math.round(Math.max(0, Math.min(Math.max(waitedMs, LEAST_RECHECK_MS), leftMs + AFTER_DEADLINE_MS)));
}

/** What becomes of a task that nobody took. */
function failureOf(obstacles: readonly Obstacle[], upstreams: number, task: WorkingTask): ApplicationFailure {
  const last = obstacles.at(-1);
  if (last === undefined) return permanent('model_unavailable');
  if (last.kind === 'full') return passing('provider_unavailable', spread(RETRY_MS));
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

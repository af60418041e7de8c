/**
 * Offers a task to the upstreams of its route, in order, until one accepts it; to those of a pool by its balance
 * (submit-to-group.ts). The next upstream is tried only after a
 * definite rejection, or if one is known to reject all requests for now (architecture, "Submitting is split from
 * waiting, and never repeated blindly"), or after a job that failed there (fail-over.ts). If all of them reject for
 * now, the task waits outside the worker and is retried.
 */
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { SubmitResult } from '../../workflows/contracts.ts';
import { GenerationFailure, permanentFailure, retryableFailure } from './failure.ts';
import { releaseUpstreamSlot } from './release-upstream-slot.ts';
import type { SubmitAttempt } from './attempt.ts';
import { submitToUpstream } from './submit-to-upstream.ts';
import type { Obstacle } from './submit-to-upstream.ts';
import { submitToGroup } from './submit-to-group.ts';
import type { Positions } from './submit-to-group.ts';
import type { TaskRoute } from './task-route.ts';

/**
 * Providers that keep rejecting are given up after this many rejections by each: a few minutes, with the pauses that
 * they request.
 */
const MAX_REJECTIONS = 6;
/**
 * A task that waits for a slot is woken when it gets one. In case the wake-up is lost, the task checks again after as
 * long as it has already waited, and not before this interval, so that a day of waiting takes about ten checks.
 */
const LEAST_RECHECK_MS = 60_000;
/** The same for a task that waits for a member of a pool while others are expected to recover. */
const LEAST_RETRY_MS = 15_000;
/**
 * How long after its deadline a waiting task is woken, in milliseconds: the activity itself detects the deadline, so it
 * must not start earlier.
 */
const AFTER_DEADLINE_MS = 500;
/** The range of the random delay that spreads the retries of tasks that wait for the same upstream, in milliseconds. */
const SPREAD_MS = 1_000;

/** @throws {GenerationFailure} no upstream accepted the task: retryable, or permanent. */
export async function submitWithFallback(attempt: SubmitAttempt): Promise<SubmitResult> {
  const { routes, triedIndex, failedIndices } = attempt;
  const candidates = routes.filter(({ upstreamIndex }) =>
    triedIndex === undefined ? !failedIndices.has(upstreamIndex) : upstreamIndex === triedIndex,
  );
  const groups = groupsOf(candidates);
  const positions = await readPositions(attempt);
  try {
    const { result, stays } = await search(attempt, groups, positions);
    await releaseSlots(attempt, positions, stays);
    return result;
  } catch (error) {
    // After a retryable failure the next attempt finds the slots that this one had.
    if (error instanceof GenerationFailure && error.isPermanent) await releaseSlots(attempt, positions);
    throw error;
  }
}

/** Only where the route has a pool: of its many members, the task has a slot or a position at few. */
async function readPositions({ context, routes, task }: SubmitAttempt): Promise<Positions | undefined> {
  if (groupsOf(routes).every(({ length }) => length === 1)) return undefined;
  const gated = routes.flatMap((route) => route.gated ?? []);
  return context.upstreams.gate.positionsOf(task.id, gated);
}

/** Where a search ends. */
interface Found {
  readonly result: SubmitResult;
  /** The upstreams where the task stays: where its job is, or in whose queues it is. */
  readonly stays: readonly TaskRoute[];
}

async function search(
  attempt: SubmitAttempt,
  groups: readonly (readonly TaskRoute[])[],
  positions: Positions | undefined,
): Promise<Found> {
  const { context, triedIndex, task } = attempt;
  const obstacles: Obstacle[] = [];
  for (const group of groups) {
    const [route] = group;
    if (route === undefined) continue;
    if (group.length > 1 && positions !== undefined) {
      const answer = await submitToGroup(attempt, group, positions, obstacles);
      if (answer.kind === 'taken') return { result: answer.result, stays: [answer.route] };
      if (answer.kind === 'queued') {
        const { members, waitedMs } = answer;
        const waitMs = Math.min(recheckMs(task, waitedMs), retryMs(obstacles, waitedMs));
        return { result: { kind: 'waiting', waitMs }, stays: members };
      }
      if (obstacles.at(-1)?.endsSearch === true) break;
      continue;
    }
    if (triedIndex !== undefined && !route.provider.isSubmitRepeatable) {
      await releaseUpstreamSlot(context, task.id, route);
      throw permanentFailure('outcome_unknown');
    }
    const answer = await submitToUpstream(attempt, route);
    if ('result' in answer) return { result: answer.result, stays: [route] };
    if (answer.kind === 'full') {
      return { result: { kind: 'waiting', waitMs: recheckMs(task, answer.waitedMs) }, stays: [route] };
    }
    obstacles.push(answer);
    if (answer.endsSearch) break;
  }
  throw failureOf(obstacles, groups.flat().length, task);
}

/**
 * Releases the slots that the task holds, or waits for, at upstreams with a concurrency limit.
 *
 * @param positions undefined: it may have one at any of them.
 * @param stays the upstreams where the task stays.
 */
async function releaseSlots(
  { context, routes, task }: SubmitAttempt,
  positions: Positions | undefined,
  stays: readonly TaskRoute[] = [],
): Promise<void> {
  for (const { upstreamIndex, upstreamName, gated } of routes) {
    if (gated === undefined || positions?.has(upstreamName) === false) continue;
    const isStaying = stays.some((route) => route.upstreamIndex === upstreamIndex);
    if (!isStaying) await context.upstreams.gate.release(gated, task.id);
  }
}

function recheckMs({ deadlineAt }: WorkingTask, waitedMs: number): number {
  const leftMs = deadlineAt === null ? Infinity : deadlineAt - performance.now();
  return Math.round(Math.max(0, Math.min(Math.max(waitedMs, LEAST_RECHECK_MS), leftMs + AFTER_DEADLINE_MS)));
}

/**
 * When a task that waits in the queues of some members tries again because others, which reject all requests for now,
 * may have recovered. Each check adds to the history of its workflow, so they become fewer.
 */
function retryMs(obstacles: readonly Obstacle[], waitedMs: number): number {
  const waits = obstacles.flatMap(({ waitMs }) => waitMs ?? []);
  if (waits.length === 0) return Infinity;
  return Math.round(Math.max(Math.min(...waits), LEAST_RETRY_MS, waitedMs / 4));
}

/** The failure of a task that no upstream accepted. */
function failureOf(obstacles: readonly Obstacle[], upstreams: number, task: WorkingTask): GenerationFailure {
  const last = obstacles.at(-1);
  if (last === undefined) return permanentFailure('model_unavailable');
  if (last.kind === 'rejected' && last.endsSearch) return permanentFailure(last.reason, last.fault);

  const waits = obstacles.flatMap(({ waitMs }) => waitMs ?? []);
  const rejections = obstacles.filter((obstacle) => obstacle.kind === 'rejected');
  // Whose credential cannot be used rejects the task as it did the one that found out.
  if (waits.length === 0) return permanentFailure(rejections.at(-1)?.reason ?? 'model_unavailable');
  const isGivenUp = rejections.some(({ rejectionsSoFar }) => rejectionsSoFar >= MAX_REJECTIONS * upstreams);
  const waitMs = spread(Math.min(...waits));
  const isTooLate = task.deadlineAt !== null && performance.now() + waitMs >= task.deadlineAt;
  if (isGivenUp || isTooLate) return permanentFailure('provider_unavailable');
  return retryableFailure('provider_unavailable', waitMs);
}

/** No delay if we gave up the submit ourselves; otherwise a little longer than requested. */
function spread(waitMs: number): number {
  return waitMs === 0 ? 0 : Math.round(waitMs + Math.random() * SPREAD_MS);
}

/**
 * The upstreams of a route in groups that are tried one after the other. The members of a group are equal: a task goes
 * to another one if the first choice is at its concurrency limit, and waits for whichever has a slot first. Between
 * groups a task moves on only after a definite rejection. A balanced route is one group and what only takes over: a
 * weight of 0. In order, each pool is a group.
 */
function groupsOf(routes: readonly TaskRoute[]): readonly (readonly TaskRoute[])[] {
  const balanced = routes.filter(({ balance, weight }) => balance !== 'ordered' && weight > 0);
  const groups: TaskRoute[][] = balanced.length === 0 ? [] : [balanced];
  for (const route of routes) {
    if (balanced.includes(route)) continue;
    const last = groups.at(-1);
    const isInLast = route.pool !== undefined && last !== balanced && last?.[0]?.pool === route.pool;
    if (isInLast) last.push(route);
    else groups.push([route]);
  }
  return groups;
}

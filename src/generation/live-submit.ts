/**
 * A submit that is still in progress although Temporal has ended its attempt, because the worker could not reach
 * Temporal for longer than the heartbeat time-out. The upstream is working, and is paid: such an attempt continues,
 * marks itself as live in the database, and records its result. The next attempt waits for that instead of giving up
 * the task (docs/decisions/0004).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { markIntentLive, readIntentMark } from '../tasks/lifecycle/intents.ts';
import { readGeneration } from '../tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Generation } from '../tasks/lifecycle/generations.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';
import { permanentFailure } from './failure.ts';
import { TaskEndedError } from './stopping.ts';
import type { TaskRoute } from './task-route.ts';

const MARK_EVERY_MS = 3_000;
/**
 * The time without a mark after which the worker of a submit is considered dead, in milliseconds: three marks are
 * missing.
 */
const DEAD_AFTER_MS = 10_000;
/** How long to watch for the next mark, in milliseconds. */
const WATCHED_MS = MARK_EVERY_MS + 2_000;
/**
 * If marks were missing for longer than it takes to notice a dead worker (10 s, and the start of the next attempt), the
 * database was unavailable: a mark that is being written then may hang for 20 s (src/database/database.ts).
 */
const AWAY_AFTER_MS = 15_000;
const WATCHED_LONG_MS = 25_000;
const POLL_EVERY_MS = 1_000;

export interface LiveSubmit {
  /** Fires when the work is no longer wanted: the task has ended, or was cancelled after this attempt had ended. */
  readonly unwanted: AbortSignal;
  stop(): void;
}

/** Marks the intent of a submit as live until it is stopped. @param attempt that sends it. */
export function startMarkingSubmitLive(
  { database, logger }: Pick<GenerationContext, 'database' | 'logger'>,
  attempt: Pick<Attempt, 'signal'>,
  { id: taskId }: Pick<WorkingTask, 'id'>,
  { upstreamIndex }: Pick<TaskRoute, 'upstreamIndex'>,
): LiveSubmit {
  const unwanted = new AbortController();
  let isMarking = false;
  const mark = async (): Promise<void> => {
    if (isMarking) return;
    isMarking = true;
    try {
      const { isOver, isCancelRequested } = await markIntentLive(database, taskId, upstreamIndex);
      // Until the attempt is over, it is cancelled by whoever started it.
      const isCancelled = isCancelRequested && attempt.signal.aborted;
      if (isOver || isCancelled) unwanted.abort(new TaskEndedError());
    } catch (error) {
      logger.debug({ err: error, taskId }, 'a submit could not be marked as live');
    } finally {
      isMarking = false;
    }
  };
  const timer = setInterval(() => void mark(), MARK_EVERY_MS);
  return { unwanted: unwanted.signal, stop: () => clearInterval(timer) };
}

/**
 * Waits for a submit that an earlier attempt announced, as long as that attempt marks itself as live.
 *
 * @returns the generation as it is then: still an intent if the attempt is dead; undefined if the intent is gone.
 * @throws the signal's reason, unless the submit has had a result by then.
 * @throws {GenerationFailure} `cancelled`: the attempt is dead, and the task was cancelled.
 */
export async function waitForLiveSubmit(
  { database }: Pick<GenerationContext, 'database'>,
  { id: taskId }: Pick<WorkingTask, 'id'>,
  signal: AbortSignal,
): Promise<Generation | undefined> {
  let watched: { readonly markedAt: string; readonly ageMs: number; readonly since: number } | undefined;
  for (;;) {
    const mark = await readIntentMark(database, taskId);
    if (mark === undefined) return readGeneration(database, taskId);
    signal.throwIfAborted();
    if (mark.markedAt !== watched?.markedAt) watched = { ...mark, since: performance.now() };
    if (isDead(watched, mark.ageMs)) {
      // A cancel ends the submit, and this attempt may learn of it from Temporal only later.
      if (mark.isCancelRequested) throw permanentFailure('cancelled');
      return readGeneration(database, taskId);
    }
    await sleep(POLL_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** @param watched the last mark, how old it was when it was first seen, and when that was. */
function isDead(
  { ageMs: firstAgeMs, since }: { readonly ageMs: number; readonly since: number },
  ageMs: number,
): boolean {
  const watchedMs = performance.now() - since;
  if (watchedMs >= WATCHED_LONG_MS) return true;
  return firstAgeMs < AWAY_AFTER_MS && ageMs >= DEAD_AFTER_MS && watchedMs >= WATCHED_MS;
}

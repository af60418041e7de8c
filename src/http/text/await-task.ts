/**
 * Waits on behalf of a text call: until a task can be created, and until the task has ended. The call outlasts the
 * event feed of a draining process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { TextFailure } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';

/** How often the task is read once the feed has ended, in milliseconds. */
const READ_INTERVAL_MS = 500;
/** How long a call waits until its task can be created. It has its money held meanwhile. */
const WAITS_FOR_ROOM_MINUTES = 60;

/**
 * Repeats work that creates a task while something that passes is in its way: a rate limit, a full queue, a daily cap.
 * For a call whose client does not wait, what fails for others is only later.
 *
 * @throws {TextFailure} the signal was aborted. @throws what the work throws, after an hour also that.
 */
export async function whenThereIsRoom<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  const endsAt = performance.now() + WAITS_FOR_ROOM_MINUTES * 60_000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isLater = error instanceof DarkroomError && error.waitsFor !== undefined;
      if (!isLater || performance.now() >= endsAt) throw error;
      await sleep(waitMsOf(error), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw reasonOf(signal);
    }
  }
}

/** Spread, so that the images of many calls are not tried together. */
function waitMsOf({ retryAfterSeconds = 1 }: DarkroomError): number {
  return Math.max(1, retryAfterSeconds) * 1_000 * (1 + Math.random() / 2);
}

/** @throws {TextFailure} the signal was aborted. The task continues. */
export async function waitForTask(
  { database, feed }: Pick<HttpContext, 'database' | 'feed'>,
  { taskId, accountId }: { readonly taskId: TaskId; readonly accountId: string },
  signal: AbortSignal,
): Promise<TaskDetail> {
  await waitForEvent(feed, taskId, signal);
  for (;;) {
    if (signal.aborted) throw reasonOf(signal);
    const task = await readTask(database, taskId, accountId);
    if (isTerminal(task.status)) return task;
    await sleep(READ_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Resolves when the task has ended, the feed has, or the signal was aborted. */
function waitForEvent(feed: HttpContext['feed'], taskId: TaskId, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const finish = (): void => {
      unsubscribe();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const unsubscribe = feed.subscribe(taskId, 0, {
      onEvent({ type }) {
        if (type === 'settled') finish();
      },
      onEnd: finish,
    });
    signal.addEventListener('abort', finish);
  });
}

/** Why a call whose signal was aborted ends. */
function reasonOf({ reason }: AbortSignal): TextFailure {
  return reason instanceof TextFailure ? reason : new TextFailure('interrupted', 'the call was cancelled');
}

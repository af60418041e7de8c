/** Waits for the end of a task on behalf of a call that outlasts the event feed of a draining process. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../../domain/task-status.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { TextFailure } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';

/** How often the task is read once the feed has ended, in milliseconds. */
const READ_INTERVAL_MS = 500;

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
export function reasonOf({ reason }: AbortSignal): TextFailure {
  return reason instanceof TextFailure ? reason : new TextFailure('interrupted', 'the call was cancelled');
}

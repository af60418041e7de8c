/**
 * Waits until a task has ended: with requests that the API holds until the status changes (`Prefer: wait=N`), so that
 * no request is wasted, and reports progress to the client meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '@darkroom/api/client/api-client';
import type { WireTask } from '@darkroom/api/tasks/task';
import { isTerminal } from '@darkroom/api/facts/task-status';

/** How long one request waits: progress within a status is noticed, and reported, at this interval. */
const POLL_INTERVAL_SECONDS = 5;
/**
 * The pause before the next request if a long poll ended early without a change, in milliseconds: the API process is
 * stopping.
 */
const EARLY_PAUSE_MS = 1_000;

export interface Waiting {
  /** The last answer arrives after about this time, or when the task has ended. */
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** Called with the task each time it was read and has not ended. */
  readonly onPoll: (task: WireTask, waitedSeconds: number) => Promise<void>;
  readonly mayWait: () => boolean;
}

/** @returns the task as last read. @throws as `ApiClient.call`, and when the signal fires. */
export async function waitForTask(api: ApiClient, taskId: string, waiting: Waiting): Promise<WireTask> {
  const { seconds, signal, onPoll, mayWait } = waiting;
  const path = `/tasks/${encodeURIComponent(taskId)}`;
  const begunAt = performance.now();
  const waited = (): number => (performance.now() - begunAt) / 1000;
  let task = await api.call<WireTask>('GET', path, { signal });
  while (!isTerminal(task.status)) {
    await onPoll(task, Math.min(waited(), seconds));
    const left = Math.ceil(seconds - waited());
    if (left <= 0 || !mayWait()) break;
    const waitSeconds = Math.min(left, POLL_INTERVAL_SECONDS);
    const { status } = task;
    const before = waited();
    task = await api.call<WireTask>('GET', path, { headers: { Prefer: `wait=${waitSeconds}` }, signal });
    const isEarly = task.status === status && waited() - before < waitSeconds / 2;
    if (isEarly && mayWait()) await sleep(EARLY_PAUSE_MS, undefined, { signal });
  }
  return task;
}

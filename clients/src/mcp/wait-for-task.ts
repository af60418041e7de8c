/**
 * Waiting for a task to be over: by requests that the API holds until the status changes (`Prefer: wait=N`), so that
 * nothing is asked in vain, and telling the client meanwhile that there is progress.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../api/api-client.ts';
import type { Task } from './task.ts';
import { isOver } from './task.ts';

/** How long one request waits: progress within a status is seen, and told, as often as this. */
const LOOK_EVERY_SECONDS = 5;
/** Before the next request where one came back early for no reason: that process is being ended, and closes. */
const EARLY_PAUSE_MS = 1_000;

export interface Waiting {
  /** The last answer comes after about this time, or when the task is over. */
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** Told of the task as it is each time that it was looked at and is not over. */
  readonly onLook: (task: Task, waitedSeconds: number) => Promise<void>;
  readonly mayWait: () => boolean;
}

/** @returns the task as it was last seen. @throws as `ApiClient.call`, and when the signal is given. */
export async function waitForTask(api: ApiClient, taskId: string, waiting: Waiting): Promise<Task> {
  const { seconds, signal, onLook, mayWait } = waiting;
  const path = `/tasks/${encodeURIComponent(taskId)}`;
  const begunAt = performance.now();
  const waited = (): number => (performance.now() - begunAt) / 1000;
  let task = await api.call<Task>('GET', path, { signal });
  while (!isOver(task)) {
    await onLook(task, Math.min(waited(), seconds));
    const left = Math.ceil(seconds - waited());
    if (left <= 0 || !mayWait()) break;
    const askFor = Math.min(left, LOOK_EVERY_SECONDS);
    const { status } = task;
    const before = waited();
    task = await api.call<Task>('GET', path, { headers: { Prefer: `wait=${askFor}` }, signal });
    const isEarly = task.status === status && waited() - before < askFor / 2;
    if (isEarly && mayWait()) await sleep(EARLY_PAUSE_MS, undefined, { signal });
  }
  return task;
}

/**
 * Wakes the tasks that wait for a provider when that provider calls back. One poller for each process, which runs only
 * while a task waits: webhooks arrive at any API process, and this one is a worker's. One statement a second, whatever
 * the number of waiting tasks.
 */
import type { Queryable } from '../database/database.ts';
import { createPoller } from '../database/poller.ts';
import { abortReason } from '../domain/abort-reason.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { Logger } from '../telemetry/log.ts';
import { readProviderHooks } from './provider-hooks.ts';

const POLL_INTERVAL_MS = 1_000;
/** For how long after a webhook an upstream is expected to send more, in milliseconds. */
const HEARD_FOR_MS = 10 * 60_000;

export interface HookFeed {
  /**
   * Waits, for `waitMs` at most, for a webhook that has not been seen.
   *
   * @param seen how many webhooks of the task were seen; 0 at first, so that an early one wakes at once.
   * @returns how many have arrived by now.
   * @throws the signal's reason.
   */
  wait(taskId: TaskId, seen: number, waitMs: number, signal: AbortSignal): Promise<number>;
  /** Whether webhooks of this upstream are known to arrive. */
  isHeard(upstreamName: string): boolean;
}

interface Waiter {
  readonly seen: number;
  wake(received: number): void;
}

export function createHookFeed({
  database,
  logger,
  now = Date.now,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
  readonly now?: () => number;
}): HookFeed {
  const waiters = new Map<TaskId, Set<Waiter>>();
  const heardAt = new Map<string, number>();

  const poll = async (): Promise<void> => {
    if (waiters.size === 0) return;
    const hooks = await readProviderHooks(database, [...waiters.keys()]);
    for (const { taskId, upstream, received } of hooks) {
      for (const waiter of waiters.get(taskId) ?? []) {
        if (received <= waiter.seen) continue;
        heardAt.set(upstream, now());
        waiter.wake(received);
      }
    }
  };

  // A task that waits is woken by its timer too, if polls fail.
  const poller = createPoller({
    what: 'the hooks of providers',
    poll,
    isNeeded: () => waiters.size > 0,
    waitMs: () => POLL_INTERVAL_MS,
    logger,
  });

  return {
    isHeard: (upstreamName) => now() - (heardAt.get(upstreamName) ?? -Infinity) < HEARD_FOR_MS,

    wait: (taskId, seen, waitMs, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(abortReason(signal));
        const others = waiters.get(taskId) ?? new Set<Waiter>();
        const end = (settle: () => void): void => {
          clearTimeout(alarm);
          signal.removeEventListener('abort', onAbort);
          others.delete(waiter);
          if (others.size === 0) waiters.delete(taskId);
          settle();
        };
        const waiter: Waiter = { seen, wake: (received) => end(() => resolve(received)) };
        const onAbort = (): void => end(() => reject(abortReason(signal)));
        const alarm = setTimeout(() => end(() => resolve(seen)), waitMs);
        signal.addEventListener('abort', onAbort);
        others.add(waiter);
        waiters.set(taskId, others);
        poller.schedule();
      }),
  };
}

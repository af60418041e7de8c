/**
 * A worker that takes work only while the clock of its machine is right. Its activities go by the clock of the database,
 * but signatures, credentials and the time-outs of Temporal do not. Workers of the SDK cannot pause, so one that stops is
 * finished in order, as at SIGTERM, and another is started when the clock is right again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseClock } from '../database/database-clock.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import type { Logger } from '../telemetry/log.ts';
import type { RunningWorker } from './worker.ts';

const RETRY_MS = 1_000;

export interface GuardedWorkerOptions {
  readonly clock: Pick<DatabaseClock, 'isRight' | 'waitUntil'>;
  readonly queues: readonly QueueName[];
  readonly logger: Logger;
  /** Starts a worker of these queues. */
  readonly start: () => Promise<RunningWorker>;
}

/**
 * Starts a worker, as soon as the clock is right.
 *
 * @throws what `start` throws the first time, where the clock is right from the beginning.
 */
export async function startClockGuardedWorker(options: GuardedWorkerOptions): Promise<RunningWorker> {
  const { clock, queues, logger, start } = options;
  const stopping = new AbortController();
  let current: RunningWorker | undefined = clock.isRight() ? await start() : undefined;

  async function runUntilWrong(worker: RunningWorker): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([stopping.signal, over.signal]);
    const wrong = clock.waitUntil(false, signal).then(() => {
      if (signal.aborted) return;
      logger.warn({ queues }, 'the worker takes no more work until its clock is right');
      worker.shutdown();
    });
    try {
      await worker.finished;
    } finally {
      over.abort();
      await wrong;
    }
  }

  /** @returns undefined where it could not be started: Temporal may be away, as it may be at any time. */
  async function startAgain(): Promise<RunningWorker | undefined> {
    try {
      return await start();
    } catch (err) {
      logger.warn({ err }, 'the worker could not be started again; it is retried');
      await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      return undefined;
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (current === undefined) {
        await clock.waitUntil(true, stopping.signal);
        if (stopping.signal.aborted) return;
        current = await startAgain();
        if (current === undefined) continue;
        // Asked to stop while it started.
        if (stopping.signal.aborted) current.shutdown();
        logger.info({ queues }, 'the clock is right: the worker takes work');
      }
      await runUntilWrong(current);
      current = undefined;
    }
  }
  const finished = run();

  return {
    finished,
    running: () => current?.running() ?? new Map(queues.map((queue) => [queue, false])),
    shutdown() {
      stopping.abort();
      current?.shutdown();
    },
  };
}

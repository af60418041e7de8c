/**
 * A worker that takes work only while the clock of its machine is correct. Its activities go by the clock of the
 * database, but signatures, credentials and the time-outs of Temporal do not. Workers of the SDK cannot pause, so one
 * whose clock is wrong is shut down gracefully, as at SIGTERM, and another is started when the clock is correct again.
 *
 * The new one does not wait for the old one, which drains for as long as an upstream takes to answer: otherwise
 * settlements, archiving and callbacks would wait as well. The SDK stops polling the task queues of a worker when its
 * shutdown begins.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseClock } from '../database/database-clock.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import type { Logger } from '../telemetry/log.ts';
import type { RunningWorker } from './worker.ts';

const RETRY_MS = 1_000;
/**
 * Maximum number of concurrent workers, including those that are draining: each can have as many submits in progress as
 * it has slots. If the clock goes wrong again and again, the next worker waits until one of them has ended.
 */
const MAX_WORKERS = 3;

export interface GuardedWorkerOptions {
  readonly clock: Pick<DatabaseClock, 'isRight' | 'waitUntil'>;
  readonly queues: readonly QueueName[];
  readonly logger: Logger;
  /** Starts a worker of these queues. */
  readonly start: () => Promise<RunningWorker>;
}

/**
 * Starts a worker as soon as the clock is correct. If one worker fails, the others are shut down gracefully and the
 * whole fails.
 *
 * @throws what `start` throws the first time, if the clock is correct from the beginning.
 */
export async function startClockGuardedWorker(options: GuardedWorkerOptions): Promise<RunningWorker> {
  const { clock, queues, logger, start } = options;
  const stopping = new AbortController();
  /** The workers that take work or drain, each with the promise of its end, which never rejects. */
  const ends = new Map<RunningWorker, Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  /** The one that takes work. */
  let current: RunningWorker | undefined;

  function shutDownCurrent(): void {
    current?.shutdown();
    current = undefined;
  }

  function stop(): void {
    stopping.abort();
    shutDownCurrent();
  }

  function run(worker: RunningWorker): void {
    current = worker;
    const end = worker.finished
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .then(() => {
        ends.delete(worker);
        if (current === worker) current = undefined;
        if (failure !== undefined) stop();
      });
    ends.set(worker, end);
  }

  /** Resolves when the worker ends, or stops taking work. */
  async function serveUntilWrong(worker: RunningWorker): Promise<void> {
    const over = new AbortController();
    const wrong = clock.waitUntil(false, AbortSignal.any([stopping.signal, over.signal]));
    await Promise.race([wrong, ends.get(worker)]);
    over.abort();
    if (current !== worker || clock.isRight()) return;
    logger.warn({ queues }, 'worker takes no more work until its clock is right');
    shutDownCurrent();
  }

  async function waitForOneToEnd(): Promise<void> {
    logger.warn({ queues, draining: ends.size }, 'too many draining workers; waiting for one to end');
    await Promise.race(ends.values());
  }

  /** Temporal may be unavailable, as at any time: then the next iteration retries. */
  async function startAgain(): Promise<void> {
    try {
      run(await start());
    } catch (err) {
      logger.warn({ err }, 'restarting the worker failed; retrying');
      await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      return;
    }
    // Stopped while it started.
    if (stopping.signal.aborted) shutDownCurrent();
    else logger.info({ queues, draining: ends.size - 1 }, 'the clock is right: the worker takes work');
  }

  async function runUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (current !== undefined) await serveUntilWrong(current);
      else if (!clock.isRight()) await clock.waitUntil(true, stopping.signal);
      else if (ends.size >= MAX_WORKERS) await waitForOneToEnd();
      else await startAgain();
    }
    await Promise.all(ends.values());
    if (failure !== undefined) throw failure.error;
  }

  if (clock.isRight()) run(await start());
  return {
    finished: runUntilStopped(),
    running: () => current?.running() ?? new Map(queues.map((queue) => [queue, false])),
    shutdown: stop,
  };
}

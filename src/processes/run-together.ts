/**
 * Runs independent workers of one process: those of its own queues and of the former ones. Separate from
 * `commands/worker.ts`, which closes the resources that they use when this has ended.
 */
import type { RunningWorker } from './worker.ts';

/**
 * Runs workers until one of them ends or fails, or the process is stopped; then all of them are shut down and awaited:
 * their work may be paid for.
 *
 * @throws the error of a worker that failed.
 */
export async function runTogether(
  workers: readonly Pick<RunningWorker, 'finished' | 'shutdown'>[],
  stop: Promise<unknown>,
): Promise<void> {
  const finished = workers.map((worker) => worker.finished);
  try {
    await Promise.race([stop, ...finished]);
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.allSettled(finished);
  }
  await Promise.all(finished);
}

/**
 * Workers of one process that are not part of one another: those of its own queues and of the former ones. Apart from
 * `commands/worker.ts`, which closes what they use when this has ended.
 */
import type { RunningWorker } from './worker.ts';

/**
 * Runs workers until one of them ends, or fails, or the process is asked to stop; then all of them are shut down, and
 * each is waited for: what it has in hand may be paid for.
 *
 * @throws what one of them failed with.
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

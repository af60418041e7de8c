/** How long the event loop of this process is blocked during some work. */
import { readFileSync } from 'node:fs';

/** Shorter pauses are not of interest here. */
const INTERVAL_MS = 5;

/**
 * The processor time that the main thread has used, in milliseconds: unlike the time that passes, it does not grow with
 * what else the machine does. Where Linux does not tell, the time that passes.
 */
export function usedMs(): number {
  try {
    const [usedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(usedNs) / 1e6;
  } catch {
    return performance.now();
  }
}

/**
 * Does some work and measures the longest time in which the event loop served nothing else.
 *
 * @returns milliseconds of the processor, and the result of the work.
 */
export async function longestPause<T>(
  work: () => Promise<T>,
): Promise<{ readonly pauseMs: number; readonly value: T }> {
  let servedAt = usedMs();
  let pauseMs = 0;
  const serve = (): void => {
    const now = usedMs();
    pauseMs = Math.max(pauseMs, now - servedAt);
    servedAt = now;
  };
  const timer = setInterval(serve, INTERVAL_MS);
  try {
    const value = await work();
    // A pause that has only just ended has not been recorded yet.
    serve();
    return { pauseMs, value };
  } finally {
    clearInterval(timer);
  }
}

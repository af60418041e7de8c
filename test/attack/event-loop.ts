/** How long the event loop of this process is blocked during some work. */

/** Shorter pauses are not of interest here. */
const INTERVAL_MS = 5;

/**
 * Does some work and measures the longest time in which the event loop served nothing else.
 *
 * @returns milliseconds, and the result of the work.
 */
export async function longestPause<T>(
  work: () => Promise<T>,
): Promise<{ readonly pauseMs: number; readonly value: T }> {
  let servedAt = performance.now();
  let pauseMs = 0;
  const serve = (): void => {
    pauseMs = Math.max(pauseMs, performance.now() - servedAt);
    servedAt = performance.now();
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

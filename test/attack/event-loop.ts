/** How long the event loop of this process stands still while something goes on. */

/** Shorter pauses are not of interest here. */
const INTERVAL_MS = 5;

/**
 * Does some work and reports the longest time in which nothing else of this process was served.
 *
 * @returns milliseconds, and what the work brought.
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
    // What stood still until just now has not been noticed yet.
    serve();
    return { pauseMs, value };
  } finally {
    clearInterval(timer);
  }
}

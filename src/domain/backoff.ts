export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait before the next attempt, in milliseconds: twice as long as the last time.
 *
 * @param waits how often it was waited before.
 */
export function backoffMs({ firstMs, maxMs }: Backoff, waits: number): number {
  return Math.min(firstMs * 2 ** waits, maxMs);
}

/**
 * When tenants that were denied a share of a worker's slots retry. Soon at first, then ever less often; and however
 * many they are, so many a second at most, each tenant as often as any other, because all of them pass through the
 * one poll of their queue (docs/decisions/0024). Counted in memory: they are forgotten with the process, and it
 * learns of them as they retry.
 */
import { backoffMs } from '../domain/backoff.ts';

export interface RetryDelaysOptions {
  /** Spread up to twice that. */
  readonly firstMs: number;
  /** The longest interval of a task that is denied repeatedly, as long as few others are. */
  readonly longestMs: number;
  /** The number of retries per second, of all tenants together. */
  readonly perSecond: number;
  /** Milliseconds, monotonic; for tests. */
  readonly now?: () => number;
}

export interface RetryDelays {
  /** @param attempt from 1. @returns whole milliseconds. */
  delayMs(tenant: string, attempt: number): number;
}

export function createRetryDelays(options: RetryDelaysOptions): RetryDelays {
  const { firstMs, longestMs, perSecond, now = () => performance.now() } = options;
  /** When the last of each tenant retries. */
  const lasts = new Map<string, number>();

  /** After the others of its tenant. */
  function inTurnMs(tenant: string): number {
    const at = now();
    for (const [id, last] of lasts) if (last <= at) lasts.delete(id);
    const last = lasts.get(tenant);
    const tenants = last === undefined ? lasts.size + 1 : lasts.size;
    const next = (last ?? at) + (tenants * 1_000) / perSecond;
    lasts.set(tenant, next);
    return next - at;
  }

  return {
    delayMs(tenant, attempt) {
      const grown = backoffMs({ firstMs, maxMs: longestMs / 2 }, attempt - 1);
      return Math.round(Math.max(grown * (1 + Math.random()), inTurnMs(tenant)));
    },
  };
}

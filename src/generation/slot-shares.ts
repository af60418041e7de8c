/**
 * A tenant's share of the slots that a worker has for activities of one kind. A task that gets no slot waits in
 * Temporal and not here, where it would hold that very slot: its attempt ends at once, and another one comes later.
 */
import { createRetryDelays } from '../limits/retry-delays.ts';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { TenantShareOptions } from '../limits/tenant-shares.ts';
import { retryableFailure } from './failure.ts';

/**
 * The first retry interval of a task that found no slot, in milliseconds: most slots are held for less than a second.
 */
const FIRST_RETURN_MS = 1_000;
/**
 * A poller hands out several hundred activities a second, and each one that is denied a slot again costs two or three
 * statements.
 */
const RETURNS_PER_SECOND = 100;

export interface SlotShareOptions extends Pick<
  TenantShareOptions,
  'resource' | 'capacity' | 'perTenant' | 'leavesFree' | 'metrics'
> {
  /** The longest wait of a task that is denied a slot again and again, while there are few of them. */
  readonly longestReturnMs: number;
}

export interface SlotShares {
  /**
   * Runs work in a slot of this tenant.
   *
   * @param attempt of the activity, from 1: the wait until the next attempt grows with it.
   * @throws {GenerationFailure} retryable: there is no free slot. Also whatever the work throws.
   */
  run<T>(tenant: string, attempt: number, work: () => Promise<T>): Promise<T>;
}

export function createSlotShares({ longestReturnMs, ...options }: SlotShareOptions): SlotShares {
  const shares = createTenantShares(options);
  const returns = createRetryDelays({
    firstMs: FIRST_RETURN_MS,
    longestMs: longestReturnMs,
    perSecond: RETURNS_PER_SECOND,
  });
  return {
    async run(tenant, attempt, work) {
      const lease = shares.tryTake(tenant);
      if (typeof lease === 'string') throw retryableFailure('provider_unavailable', returns.delayMs(tenant, attempt));
      try {
        return await work();
      } finally {
        lease.release();
      }
    },
  };
}

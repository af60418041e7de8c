/**
 * A tenant's share of the slots that a worker has for activities of one kind. Whoever finds none waits in Temporal and not
 * here, where it would hold the very slot: its attempt ends at once, and another comes later.
 */
import { createReturnTimes } from '../src/limits/return-times.ts';
import { createTenantShares } from '../src/limits/tenant-shares.ts';
import type { TenantShareOptions } from '../src/limits/tenant-shares.ts';
import { passing } from './failures.ts';

/** Most of what holds a slot is over within a second. */
const FIRST_RETURN_MS = 1_000;
/** A poll passes on several hundred activities a second, and each that is refused again costs two or three statements. */
const RETURNS_PER_SECOND = 100;

export interface SlotShareOptions extends Pick<
  TenantShareOptions,
  'resource' | 'capacity' | 'perTenant' | 'leavesFree' | 'metrics'
> {
  /** The longest wait of one that is refused again and again, while there are few of them. */
  readonly longestReturnMs: number;
}

export interface SlotShares {
  /**
   * Does work in a slot of this tenant.
   *
   * @param attempt of the activity, from 1: the later, the longer until the next.
   * @throws {ApplicationFailure} passing: there is none. And what the work throws.
   */
  run<T>(tenant: string, attempt: number, work: () => Promise<T>): Promise<T>;
}

export function createSlotShares({ longestReturnMs, ...options }: SlotShareOptions): SlotShares {
  const shares = createTenantShares(options);
  const returns = createReturnTimes({
    firstMs: FIRST_RETURN_MS,
    longestMs: longestReturnMs,
    perSecond: RETURNS_PER_SECOND,
  });
  return {
    async run(tenant, attempt, work) {
      const lease = shares.tryTake(tenant);
      if (typeof lease === 'string') throw passing('provider_unavailable', returns.delayMs(tenant, attempt));
      try {
        return await work();
      } finally {
        lease.release();
      }
    },
  };
}

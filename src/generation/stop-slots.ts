/**
 * Limits how many stop requests may be in progress at providers at the same time, per account and per upstream. Each
 * holds a slot of the worker for as long as the upstream does not answer, and other tasks need these slots: the cost of
 * a cancelled task is known in time only if its stop request has one. A request that gets no slot releases its worker
 * slot and is retried.
 */
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { createSlotShares } from './slot-shares.ts';

/**
 * The maximum number of concurrent stop requests in one worker, in addition to its settlements
 * (src/processes/worker.ts).
 */
export const STOP_SLOTS = 40;
/**
 * Fewer than one upstream may have, so that an upstream with many requests of one account still receives those of
 * other tasks.
 */
export const STOP_SLOTS_OF_ACCOUNT = 12;
/** The answer is awaited for 20 s in total (`CANCEL_BEFORE_SETTLEMENT_OPTIONS`). */
const LONGEST_RETURN_MS = 2_000;

export interface StopSlots {
  /**
   * Sends a request to an upstream if there is a free slot for it.
   *
   * @param attempt of the activity, from 1.
   * @throws {GenerationFailure} retryable: there is none. Also whatever the request throws.
   */
  run<T>(whose: { accountId: string; upstreamName: string }, attempt: number, request: () => Promise<T>): Promise<T>;
}

export function createStopSlots(metrics?: ShareMetrics): StopSlots {
  const shared = { capacity: STOP_SLOTS, leavesFree: true, longestReturnMs: LONGEST_RETURN_MS, metrics };
  const accounts = createSlotShares({ ...shared, resource: 'stop_requests', perTenant: STOP_SLOTS_OF_ACCOUNT });
  const upstreams = createSlotShares({ ...shared, resource: 'upstream_stop_requests' });
  return {
    run: ({ accountId, upstreamName }, attempt, request) =>
      accounts.run(accountId, attempt, () => upstreams.run(upstreamName, attempt, request)),
  };
}

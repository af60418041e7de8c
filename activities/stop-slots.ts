/**
 * How many requests to stop may be under way at providers at a time, of one account and at one upstream. Each holds a slot
 * of the worker for as long as the upstream stays silent, and others need these slots: what a cancelled task costs is
 * known in time only where its request has one. Whoever finds none gives its slot back and is tried again.
 */
import type { ShareMetrics } from '../src/telemetry/metrics-shares.ts';
import { createSlotShares } from './slot-shares.ts';

/** In one worker, beside those for settlements (src/processes/worker.ts). */
export const STOP_SLOTS = 40;
/** Fewer than one upstream may have, so that the upstream of one account's many requests still hears of others' tasks. */
export const STOP_SLOTS_OF_ACCOUNT = 12;
/** The answer is waited for 20 s in all (`ASK_TO_STOP_OPTIONS`). */
const LONGEST_RETURN_MS = 2_000;

export interface StopSlots {
  /**
   * Asks an upstream, where there is a slot for that.
   *
   * @param attempt of the activity, from 1.
   * @throws {ApplicationFailure} passing: there is none. And what the request throws.
   */
  run<T>(whose: { accountId: string; upstreamName: string }, attempt: number, ask: () => Promise<T>): Promise<T>;
}

export function createStopSlots(metrics?: ShareMetrics): StopSlots {
  const shared = { capacity: STOP_SLOTS, leavesFree: true, longestReturnMs: LONGEST_RETURN_MS, metrics };
  const accounts = createSlotShares({ ...shared, resource: 'stop_requests', perTenant: STOP_SLOTS_OF_ACCOUNT });
  const upstreams = createSlotShares({ ...shared, resource: 'upstream_stop_requests' });
  return {
    run: ({ accountId, upstreamName }, attempt, ask) =>
      accounts.run(accountId, attempt, () => upstreams.run(upstreamName, attempt, ask)),
  };
}

/**
 * How many tasks of one account may be archived at the same time. Each holds a slot of the worker for as long as the
 * provider's server and the decoding of its videos take; so an account holds at most as many slots as it leaves free.
 * Tasks of models that generate videos have half of the slots, because they wait for one of a few decoders
 * (frame-decoders.ts) while images are archived quickly.
 */
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { createSlotShares } from './slot-shares.ts';
import type { SlotShares } from './slot-shares.ts';

/** Concurrent archivings in one worker: bounded by the store and the database pool. */
export const ARCHIVING_SLOTS = 40;
/** The share of these slots for tasks of video models. */
export const VIDEO_ARCHIVING_SLOTS = ARCHIVING_SLOTS / 2;
/** A slow file takes minutes: tasks that wait for a slot retry at least this often. */
const LONGEST_RETURN_MS = 10_000;

/** @param slots for tests; default `ARCHIVING_SLOTS`. */
export function createArchivingSlots(metrics?: ShareMetrics, slots: number = ARCHIVING_SLOTS): SlotShares {
  const longestReturnMs = LONGEST_RETURN_MS;
  return createSlotShares({ resource: 'archiving_slots', capacity: slots, leavesFree: true, longestReturnMs, metrics });
}

/** @param slots for tests; default `VIDEO_ARCHIVING_SLOTS`. */
export function createVideoArchivingSlots(metrics?: ShareMetrics, slots: number = VIDEO_ARCHIVING_SLOTS): SlotShares {
  const longestReturnMs = LONGEST_RETURN_MS;
  return createSlotShares({ resource: 'film_slots', capacity: slots, leavesFree: true, longestReturnMs, metrics });
}

/**
 * How many tasks of one account may be archived at a time. Each holds a slot of the worker for as long as a provider's
 * server likes, and as the decoding of its films takes; so an account holds at most as many slots as it leaves free. Tasks
 * of models that make films have half of the slots, because they wait for one of a few decoders (frame-decoders.ts) while
 * images are over in a moment.
 */
import type { ShareMetrics } from '../src/telemetry/metrics-shares.ts';
import { createSlotShares } from './slot-shares.ts';
import type { SlotShares } from './slot-shares.ts';

/** Archiving at once in one worker: bounded by the store and the database pool. */
export const ARCHIVING_SLOTS = 40;
/** Of these. */
export const FILM_SLOTS = ARCHIVING_SLOTS / 2;
/** A slow file takes minutes: whoever waits for its end looks that often. */
const LONGEST_RETURN_MS = 10_000;

/** @param slots for tests; default `ARCHIVING_SLOTS`. */
export function createArchivingSlots(metrics?: ShareMetrics, slots: number = ARCHIVING_SLOTS): SlotShares {
  const longestReturnMs = LONGEST_RETURN_MS;
  return createSlotShares({ resource: 'archiving_slots', capacity: slots, leavesFree: true, longestReturnMs, metrics });
}

/** @param slots for tests; default `FILM_SLOTS`. */
export function createFilmSlots(metrics?: ShareMetrics, slots: number = FILM_SLOTS): SlotShares {
  const longestReturnMs = LONGEST_RETURN_MS;
  return createSlotShares({ resource: 'film_slots', capacity: slots, leavesFree: true, longestReturnMs, metrics });
}

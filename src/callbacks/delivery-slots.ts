/**
 * Shares the delivery slots of one worker among accounts. A receiver that hangs holds each of its deliveries for 10 s,
 * so an account with many of them would occupy every slot. An account may hold as many slots as are still free: one
 * account alone gets half of them, two get a third each, and the next account always finds free slots.
 *
 * A delivery without a slot goes back to Temporal's queue with a delay: the time at which the account's earlier
 * deliveries will be done, at the rate at which its attempts end. Fast receivers rarely reach this limit, and then
 * wait only briefly.
 */

import { createTenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';

/** The maximum number of callbacks in progress in a worker. Each mostly waits for its receiver, for 10 s at most. */
export const CALLBACK_SLOTS = 200;

/**
 * The shortest delay before a callback without a slot is retried, in milliseconds. The return to the queue alone takes
 * some 50 ms.
 */
const SHORTEST_DELAY_MS = 250;
/**
 * A longer delay would be too late when the receiver has recovered. Below the age at which reconciliation considers a
 * delivery lost (tasks/outbox/outbox.ts).
 */
const LONGEST_DELAY_MS = 60_000;
/** The assumed duration of an attempt in milliseconds, before anything is known about an account's receivers. */
const ASSUMED_ATTEMPT_MS = 250;
/** The weight of the newest attempt in the average. */
const NEWEST_WEIGHT = 0.2;

/** A slot, or when to request one again. */
export type SlotAnswer = { readonly release: () => void } | { readonly delayMs: number };

export interface DeliverySlots {
  /** Takes a slot for an account, if there is one. A slot is released once. */
  take(accountId: string): SlotAnswer;
}

interface AccountState {
  /** The attempts in progress by start time, the oldest first. */
  readonly underWay: Set<{ readonly startedAt: number }>;
  averageMs: number;
  /** When the next delivery that finds no slot is to come back. */
  nextTurnAt: number;
}

export interface DeliverySlotOptions {
  readonly slots?: number;
  /** Milliseconds, from a monotonic clock. */
  readonly now?: () => number;
  /** Returns a number from 0 to below 1. */
  readonly random?: () => number;
  readonly metrics?: ShareMetrics;
}

export function createDeliverySlots({
  slots = CALLBACK_SLOTS,
  now = () => performance.now(),
  random = Math.random,
  metrics,
}: DeliverySlotOptions = {}): DeliverySlots {
  const accounts = new Map<string, AccountState>();
  const shares = createTenantShares({
    resource: 'callback_deliveries',
    capacity: slots,
    leavesFree: true,
    metrics,
  });

  function stateOf(accountId: string): AccountState {
    const known = accounts.get(accountId);
    if (known !== undefined) return known;
    const state = { underWay: new Set<{ startedAt: number }>(), averageMs: ASSUMED_ATTEMPT_MS, nextTurnAt: 0 };
    accounts.set(accountId, state);
    return state;
  }

  /** The duration of an attempt; if those in progress take longer, at least as long as the oldest has taken so far. */
  function attemptMsOf({ underWay, averageMs }: AccountState): number {
    const [oldest] = underWay;
    return oldest === undefined ? averageMs : Math.max(averageMs, now() - oldest.startedAt);
  }

  function turnOf(state: AccountState): number {
    const attemptMs = attemptMsOf(state);
    state.nextTurnAt = Math.max(now() + attemptMs, state.nextTurnAt) + attemptMs / Math.max(1, state.underWay.size);
    const delayMs = state.nextTurnAt - now();
    if (delayMs <= LONGEST_DELAY_MS) return Math.max(SHORTEST_DELAY_MS, delayMs);
    // Deliveries beyond this limit come back anyway: spread them out instead of returning all at once.
    state.nextTurnAt = now() + LONGEST_DELAY_MS;
    return LONGEST_DELAY_MS * (0.5 + random() / 2);
  }

  return {
    take(accountId) {
      const state = stateOf(accountId);
      const lease = shares.tryTake(accountId);
      if (typeof lease === 'string') return { delayMs: Math.round(turnOf(state)) };
      const held = { startedAt: now() };
      state.underWay.add(held);
      return {
        release: () => {
          if (!state.underWay.delete(held)) return;
          lease.release();
          state.averageMs += (now() - held.startedAt - state.averageMs) * NEWEST_WEIGHT;
          if (state.underWay.size === 0 && state.nextTurnAt <= now()) accounts.delete(accountId);
        },
      };
    },
  };
}

/**
 * How the places for deliveries of one worker are shared among accounts. A receiver that hangs holds each of its
 * deliveries for 10 s, so an account with many of them would hold every place. Here an account may hold as many as are
 * still free: one alone gets half of them, two a third each, and whoever comes next always finds some.
 *
 * What finds none is sent back to Temporal's queue and told when to come again: when, at the pace at which this account's
 * attempts end, those before it will be through. Fast receivers are hardly ever met by this, and hardly wait.
 */

import { createTenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics-shares.ts';

/** Callbacks under way at once in a worker: each mostly waits for a receiver, for 10 s at most. */
export const CALLBACK_SLOTS = 200;

/** Sooner would only cost: the hand-over itself takes some 50 ms. */
const SHORTEST_DELAY_MS = 250;
/** Later would be too late where the receiver has recovered. Below what reconciling takes for lost (tasks/outbox/outbox.ts). */
const LONGEST_DELAY_MS = 60_000;
/** Before anything is known of an account's receivers. */
const ASSUMED_ATTEMPT_MS = 250;
/** What the newest attempt weighs in the average. */
const NEWEST_WEIGHT = 0.2;

/** A place, or when to ask for one again. */
export type SlotAnswer = { readonly release: () => void } | { readonly delayMs: number };

export interface DeliverySlots {
  /** Takes a place for an account, or none. What was taken is released once. */
  take(accountId: string): SlotAnswer;
}

interface AccountState {
  /** Those under way by when they began, the oldest first. */
  readonly underWay: Set<{ readonly startedAt: number }>;
  averageMs: number;
  /** When the next one that finds no place is to come again. */
  nextTurnAt: number;
}

export interface DeliverySlotOptions {
  readonly slots?: number;
  /** Milliseconds, going forward only. */
  readonly now?: () => number;
  /** From 0 to below 1. */
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

  /** How long an attempt takes; where those under way take longer, at least as long as the oldest does already. */
  function attemptMsOf({ underWay, averageMs }: AccountState): number {
    const [oldest] = underWay;
    return oldest === undefined ? averageMs : Math.max(averageMs, now() - oldest.startedAt);
  }

  function turnOf(state: AccountState): number {
    const attemptMs = attemptMsOf(state);
    state.nextTurnAt = Math.max(now() + attemptMs, state.nextTurnAt) + attemptMs / Math.max(1, state.underWay.size);
    const delayMs = state.nextTurnAt - now();
    if (delayMs <= LONGEST_DELAY_MS) return Math.max(SHORTEST_DELAY_MS, delayMs);
    // Those beyond come again anyhow: spread out, not all in one moment.
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

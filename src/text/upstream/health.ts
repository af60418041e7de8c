/**
 * What this process knows of upstreams: which asks us to back off, and which keeps failing. A pause is shared with the
 * other processes through the gate that media upstreams have too; its state is read beside the calls, once a second at
 * most and only while there are calls, so that none of them waits for the database.
 *
 * An upstream that keeps failing is only tried later than others, and never denied a call: one client's requests must
 * not be able to take a model away from all.
 */
import type { GatedUpstream, Health, UpstreamGate } from '../../upstreams/gate.ts';

export interface UpstreamHealth {
  /** For how many milliseconds the upstream asks us to back off, as far as is known. */
  pausedMs(name: string): number;
  /**
   * Whether other upstreams are to be tried first. After a while one call may try this one; for that call the result
   * is false.
   */
  isFailing(name: string): boolean;
  /** It has answered, whatever the answer was. */
  answered(name: string): void;
  /** It gave no answer, or reported that it cannot. */
  failed(name: string): void;
  /** It asks us to back off. */
  paused(name: string, pauseMs: number): void;
}

/** Known state of the other processes is valid for this long. */
const FRESH_MS = 1_000;
/**
 * As in upstreams/states.ts: this many failures in a row, each within this time of the one before, and this long a
 * cooldown.
 */
const FAILURES_TO_AVOID = 5;
const FAILURE_WINDOW_MS = 60_000;
const AVOID_MS = 30_000;
/** A pause that ends at most this much later than the known one is the same, reported to many calls at once. */
const SAME_PAUSE_MS = 1_000;

interface Known {
  readonly upstream: GatedUpstream;
  askedAt: number;
  pausedUntil: number;
  failures: number;
  failedAt: number;
  avoidedUntil: number;
}

/** @param now milliseconds; only differences count. */
export function createUpstreamHealth({
  gate,
  now,
}: {
  readonly gate: Pick<UpstreamGate, 'pausedMs' | 'report'>;
  readonly now: () => number;
}): UpstreamHealth {
  const known = new Map<string, Known>();

  const of = (name: string): Known => {
    let entry = known.get(name);
    if (entry === undefined) {
      entry = { upstream: { name }, askedAt: -Infinity, pausedUntil: 0, failures: 0, failedAt: 0, avoidedUntil: 0 };
      known.set(name, entry);
    }
    return entry;
  };

  const ask = async (entry: Known): Promise<void> => {
    const askedAt = now();
    entry.askedAt = askedAt;
    const pausedMs = await gate.pausedMs(entry.upstream);
    if (pausedMs > 0) entry.pausedUntil = Math.max(entry.pausedUntil, askedAt + pausedMs);
  };

  return {
    pausedMs(name) {
      const entry = of(name);
      const at = now();
      if (at - entry.askedAt >= FRESH_MS) void ask(entry);
      return Math.max(0, entry.pausedUntil - at);
    },

    isFailing(name) {
      const entry = of(name);
      if (entry.failures < FAILURES_TO_AVOID) return false;
      const at = now();
      if (at < entry.avoidedUntil) return true;
      entry.avoidedUntil = at + AVOID_MS;
      return false;
    },

    answered(name) {
      of(name).failures = 0;
    },

    failed(name) {
      const entry = of(name);
      const at = now();
      entry.failures = at - entry.failedAt < FAILURE_WINDOW_MS ? entry.failures + 1 : 1;
      entry.failedAt = at;
      if (entry.failures >= FAILURES_TO_AVOID) entry.avoidedUntil = at + AVOID_MS;
    },

    paused(name, pauseMs) {
      if (pauseMs <= 0) return;
      const entry = of(name);
      const until = now() + pauseMs;
      if (until <= entry.pausedUntil + SAME_PAUSE_MS) {
        entry.pausedUntil = Math.max(entry.pausedUntil, until);
        return;
      }
      entry.pausedUntil = until;
      const health: Health = { pauseMs };
      void gate.report(entry.upstream, health);
    },
  };
}

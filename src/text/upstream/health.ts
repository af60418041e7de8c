/**
 * The health of upstreams in this process: which require a pause, and which fail repeatedly. A pause is shared with the
 * other processes through the gate that media upstreams have too; its state is read independently of the calls, once a
 * second at most and only while there are calls, so that none of them waits for the database.
 *
 * An upstream that fails repeatedly is tried after the others, but never excluded: one client's requests must
 * not be able to take a model away from all.
 */
import { CLOSED_CIRCUIT, afterFailure, claimProbe } from '../../upstreams/circuit-breaker.ts';
import type { Circuit } from '../../upstreams/circuit-breaker.ts';
import type { GatedUpstream, Health, UpstreamGate } from '../../upstreams/gate.ts';

export interface UpstreamHealth {
  /** Milliseconds that remain of the upstream's pause, as of the last refresh. */
  pausedMs(name: string): number;
  /**
   * Whether other upstreams are to be tried first. After a while one call may try this one; for that call the result
   * is false.
   */
  isFailing(name: string): boolean;
  /** The upstream has responded, whatever the status was. */
  answered(name: string): void;
  /** The upstream did not respond, or reported that it is unavailable. */
  failed(name: string): void;
  /** The upstream requires a pause. */
  paused(name: string, pauseMs: number): void;
}

/** The state of the other processes is valid for this long. */
const FRESH_MS = 1_000;
/** A pause that ends at most this much later than the known one is the same, reported to many calls at once. */
const SAME_PAUSE_MS = 1_000;

interface HealthEntry {
  readonly upstream: GatedUpstream;
  refreshedAt: number;
  pausedUntil: number;
  circuit: Circuit;
}

/** @param now milliseconds; only differences count. */
export function createUpstreamHealth({
  gate,
  now,
}: {
  readonly gate: Pick<UpstreamGate, 'pausedMs' | 'report'>;
  readonly now: () => number;
}): UpstreamHealth {
  const known = new Map<string, HealthEntry>();

  const of = (name: string): HealthEntry => {
    let entry = known.get(name);
    if (entry === undefined) {
      entry = { upstream: { name }, refreshedAt: -Infinity, pausedUntil: 0, circuit: CLOSED_CIRCUIT };
      known.set(name, entry);
    }
    return entry;
  };

  const refresh = async (entry: HealthEntry): Promise<void> => {
    const refreshedAt = now();
    entry.refreshedAt = refreshedAt;
    const pausedMs = await gate.pausedMs(entry.upstream);
    if (pausedMs > 0) entry.pausedUntil = Math.max(entry.pausedUntil, refreshedAt + pausedMs);
  };

  return {
    pausedMs(name) {
      const entry = of(name);
      const at = now();
      if (at - entry.refreshedAt >= FRESH_MS) void refresh(entry);
      return Math.max(0, entry.pausedUntil - at);
    },

    isFailing(name) {
      const entry = of(name);
      if (entry.circuit.openUntil === undefined) return false;
      const probing = claimProbe(entry.circuit, now());
      if (probing === undefined) return true;
      entry.circuit = probing;
      return false;
    },

    answered(name) {
      of(name).circuit = CLOSED_CIRCUIT;
    },

    failed(name) {
      const entry = of(name);
      entry.circuit = afterFailure(entry.circuit, now());
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

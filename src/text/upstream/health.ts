/**
 * The health of upstreams of text. It is recorded where that of media upstreams is, through the same gate, so that
 * operators see one list and drain both alike. What a call needs is kept in this process, and what other processes
 * recorded is read independently of the calls, once a second at most and only while there are calls, so that none of
 * them waits for the database; only the first one after a quiet time does.
 *
 * An upstream that fails repeatedly is tried after the others, but never excluded: one client's requests must
 * not be able to take a model away from all.
 */
import { ANSWER_INTERVAL_MS, CLOSED_CIRCUIT, afterFailure, claimProbe } from '../../upstreams/states.ts';
import type { Circuit, PauseReason } from '../../upstreams/states.ts';
import type { GatedUpstream, UpstreamGate } from '../../upstreams/gate.ts';

export interface UpstreamHealth {
  /** Reads the state of an upstream if no call has done so for a while. Never fails. */
  known(name: string): Promise<void>;
  /** Whether an operator has drained the upstream, as of the last refresh. */
  isDrained(name: string): boolean;
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
  /** The upstream does not accept our credential. */
  rejectedCredential(name: string, reason: PauseReason): void;
  /** The upstream requires a pause. */
  paused(name: string, pauseMs: number): void;
}

/** The state of the other processes is valid for this long. */
const FRESH_MS = 1_000;
/** After this long without a call, the next one waits until it is read. */
const STALE_MS = 5_000;
/** A pause that ends at most this much later than the known one is the same, reported to many calls at once. */
const SAME_PAUSE_MS = 1_000;

interface HealthEntry {
  readonly upstream: GatedUpstream;
  refreshedAt: number;
  refreshing: Promise<void> | undefined;
  pausedUntil: number;
  isDrained: boolean;
  circuit: Circuit;
  /** Whether a problem is recorded that an answer ends. */
  hasProblem: boolean;
  answerReportedAt: number;
  /** Many calls fail at once: one report at a time says so. */
  isReporting: boolean;
}

/** @param now milliseconds; only differences count. */
export function createUpstreamHealth({
  gate,
  now,
}: {
  readonly gate: Pick<UpstreamGate, 'stateOf' | 'report'>;
  readonly now: () => number;
}): UpstreamHealth {
  const entries = new Map<string, HealthEntry>();

  const of = (name: string): HealthEntry => {
    let entry = entries.get(name);
    if (entry === undefined) {
      entry = {
        upstream: { name },
        refreshedAt: -Infinity,
        refreshing: undefined,
        pausedUntil: 0,
        isDrained: false,
        circuit: CLOSED_CIRCUIT,
        hasProblem: false,
        answerReportedAt: -Infinity,
        isReporting: false,
      };
      entries.set(name, entry);
    }
    return entry;
  };

  const refresh = (entry: HealthEntry): Promise<void> => {
    const refreshedAt = now();
    entry.refreshedAt = refreshedAt;
    return (entry.refreshing ??= gate
      .stateOf(entry.upstream)
      .then(({ pausedMs, isDrained, failures, isBroken, credentialProblem }) => {
        if (pausedMs > 0) entry.pausedUntil = Math.max(entry.pausedUntil, refreshedAt + pausedMs);
        entry.isDrained = isDrained;
        entry.hasProblem ||= failures > 0 || isBroken || credentialProblem !== null;
      })
      // What is known stays.
      .catch(() => {})
      .finally(() => (entry.refreshing = undefined)));
  };

  const report = (entry: HealthEntry, health: 'failed' | { pauseMs: number; reason: PauseReason }): void => {
    entry.hasProblem = true;
    if (entry.isReporting) return;
    entry.isReporting = true;
    void gate.report(entry.upstream, health).finally(() => (entry.isReporting = false));
  };

  return {
    async known(name) {
      const entry = of(name);
      const ageMs = now() - entry.refreshedAt;
      if (ageMs >= STALE_MS) await refresh(entry);
      else if (ageMs >= FRESH_MS) void refresh(entry);
    },

    isDrained: (name) => of(name).isDrained,

    pausedMs: (name) => Math.max(0, of(name).pausedUntil - now()),

    isFailing(name) {
      const entry = of(name);
      if (entry.circuit.openUntil === undefined) return false;
      const probing = claimProbe(entry.circuit, now());
      if (probing === undefined) return true;
      entry.circuit = probing;
      return false;
    },

    answered(name) {
      const entry = of(name);
      entry.circuit = CLOSED_CIRCUIT;
      if (!entry.hasProblem && now() - entry.answerReportedAt < ANSWER_INTERVAL_MS) return;
      entry.hasProblem = false;
      entry.answerReportedAt = now();
      void gate.report(entry.upstream, 'answered');
    },

    failed(name) {
      const entry = of(name);
      entry.circuit = afterFailure(entry.circuit, now());
      report(entry, 'failed');
    },

    rejectedCredential(name, reason) {
      const entry = of(name);
      entry.circuit = afterFailure(entry.circuit, now());
      report(entry, { pauseMs: 0, reason });
    },

    paused(name, pauseMs) {
      if (pauseMs <= 0) return;
      const entry = of(name);
      // An upstream that says for how long has answered.
      entry.circuit = CLOSED_CIRCUIT;
      const until = now() + pauseMs;
      if (until <= entry.pausedUntil + SAME_PAUSE_MS) {
        entry.pausedUntil = Math.max(entry.pausedUntil, until);
        return;
      }
      entry.pausedUntil = until;
      void gate.report(entry.upstream, { pauseMs });
    },
  };
}

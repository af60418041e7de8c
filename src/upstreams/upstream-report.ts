/**
 * The state of every upstream, for operators: what the gate stores (states.ts), with the times at which it ends. Times
 * and not durations from now, so that two reads of the same state are equal.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { MAX_UPSTREAMS } from '@darkroom/api/facts/limits';
import { ANSWER_KNOWN_SECONDS, IS_FAILING } from './states.ts';
import type { PauseReason } from './states.ts';

export { MAX_UPSTREAMS } from '@darkroom/api/facts/limits';

/** An upstream that a model names, or that was used. Times are null if they do not apply. */
export interface UpstreamReport {
  /** Its id, else its protocol and host. */
  readonly upstream: string;
  /** The end of the pause that it requested; never in the past. */
  readonly pausedUntil: Date | null;
  /** What is wrong with its credential. */
  readonly pauseReason: PauseReason | null;
  /** Since when an operator lets no new work go there. */
  readonly drainedAt: Date | null;
  /** Until then no task goes there, or one task tries; in the past: the next task that comes is the one that tries. */
  readonly openUntil: Date | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly failingSince: Date | null;
  /** When it last answered, to the minute. */
  readonly answeredAt: Date | null;
  /** Whether it is known to fail: its breaker is open, and lets no task try yet. */
  readonly isFailing: boolean;
  /** Whether it is known to answer. */
  readonly isAnswering: boolean;
  /** The number of jobs running there, if they are limited or counted. */
  readonly slotsTaken: number;
  /** The number of tasks in its queue. */
  readonly waiting: number;
}

/** An upstream with no recorded state. */
export function idleUpstream(upstream: string): UpstreamReport {
  return {
    upstream,
    pausedUntil: null,
    pauseReason: null,
    drainedAt: null,
    openUntil: null,
    failures: 0,
    failingSince: null,
    answeredAt: null,
    isFailing: false,
    isAnswering: false,
    slotsTaken: 0,
    waiting: 0,
  };
}

const selectReports: Statement = {
  name: 'select_upstream_reports',
  text: `SELECT upstream, CASE WHEN paused_until > now() THEN paused_until END AS "pausedUntil",
                credential_problem AS "pauseReason", drained_at AS "drainedAt", open_until AS "openUntil", failures,
                failing_since AS "failingSince", slots_taken AS "slotsTaken", answered_at AS "answeredAt",
                ${IS_FAILING} AS "isFailing",
                coalesce(answered_at > now() - interval '${ANSWER_KNOWN_SECONDS} seconds', false)
                  AND open_until IS NULL AS "isAnswering",
                (SELECT count(*)::integer FROM upstream_waits w WHERE w.upstream = s.upstream) AS waiting
           FROM upstream_states s ORDER BY upstream LIMIT ${MAX_UPSTREAMS}`,
};

/** Lists all upstreams, sorted by name. */
export async function reportUpstreams(database: Queryable): Promise<readonly UpstreamReport[]> {
  return database.query<UpstreamReport>(selectReports);
}

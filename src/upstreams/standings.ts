/**
 * Where every upstream stands, for operators: what the gate keeps (states.ts), with the moments at which it ends. Times and
 * not how long from now, so that two looks at the same state are the same.
 */
import type { Queryable, Statement } from '../database/database.ts';

/** One that was ever paused, failing or capped. Times are null where there is nothing of the kind. */
export interface UpstreamReport {
  /** Its id, else its protocol and host. */
  readonly upstream: string;
  /** Until then it asked to be left alone; never in the past. */
  readonly pausedUntil: Date | null;
  /** Until then nobody goes there, or one task tries; in the past: the next task that comes is the one that tries. */
  readonly openUntil: Date | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly failingSince: Date | null;
  /** Jobs under way there, where they are capped. */
  readonly slotsTaken: number;
}

/** There are as many as model files have ever named. */
export const MAX_UPSTREAMS = 200;

/** One of which nothing was ever written down. */
export function quietUpstream(upstream: string): UpstreamReport {
  return { upstream, pausedUntil: null, openUntil: null, failures: 0, failingSince: null, slotsTaken: 0 };
}

const selectReports: Statement = {
  name: 'select_upstream_reports',
  text: `SELECT upstream, CASE WHEN paused_until > now() THEN paused_until END AS "pausedUntil",
                open_until AS "openUntil", failures, failing_since AS "failingSince", slots_taken AS "slotsTaken"
           FROM upstream_states ORDER BY upstream LIMIT ${MAX_UPSTREAMS}`,
};

/** All of them, by name. */
export async function reportUpstreams(database: Queryable): Promise<readonly UpstreamReport[]> {
  return database.query<UpstreamReport>(selectReports);
}

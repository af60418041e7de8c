/**
 * What operators see of upstreams, and do to them: the state that the gate stores (states.ts), with the times at which
 * it ends; and letting no new work go to one while its jobs continue. Times and not durations from now, so that two
 * reads of the same state are equal.
 */
import { MAX_UPSTREAMS } from '@darkroom/api/facts/limits';
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { EMBEDDED_PROTOCOL } from '../domain/upstream-names.ts';
import { ANSWER_KNOWN_SECONDS, IS_FAILING, drainUpstream, resumeUpstream } from './states.ts';
import type { PauseReason } from './states.ts';
import { upstreamName } from './upstream-caps.ts';

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

/** No model has ever named such an upstream. */
export class UpstreamNotFoundError extends DarkroomError {
  override readonly name = 'UpstreamNotFoundError';
  override readonly kind = 'not_found';

  constructor(upstream: string) {
    super(`no model names an upstream ${JSON.stringify(upstream)}`);
  }
}

const selectStored: Statement = {
  name: 'select_stored_upstream',
  text: 'SELECT 1 FROM upstream_states WHERE upstream = $1',
};
const selectNamed: Statement = {
  name: 'select_named_upstreams',
  text: `SELECT DISTINCT u->>'id' AS id, u->>'protocol' AS protocol, u->>'baseUrl' AS "baseUrl"
           FROM model_definitions, jsonb_path_query(definition, '$.routes.*.upstreams[*]') u
          WHERE u->>'protocol' <> '${EMBEDDED_PROTOCOL}'`,
};

interface NamedUpstream {
  readonly id: string | null;
  readonly protocol: string;
  readonly baseUrl: string | null;
}

/**
 * Drains an upstream, or ends that together with its pause. What processes know of it is at most two seconds old.
 *
 * @param isNamed whether the models of this process name it. @throws {UpstreamNotFoundError}
 */
export async function setDrained(
  database: Queryable,
  upstream: string,
  isDrained: boolean,
  isNamed = false,
): Promise<void> {
  if (!isNamed && !(await isKnown(database, upstream))) throw new UpstreamNotFoundError(upstream);
  if (isDrained) await drainUpstream(database, upstream);
  else await resumeUpstream(database, upstream);
}

/** An upstream about which nothing was recorded yet is known by the models that name it. */
async function isKnown(database: Queryable, upstream: string): Promise<boolean> {
  if ((await database.query(selectStored, [upstream])).length > 0) return true;
  const named = await database.query<NamedUpstream>(selectNamed);
  return named.some(
    ({ id, protocol, baseUrl }) =>
      upstreamName({
        protocol,
        ...(id === null ? {} : { id }),
        ...(baseUrl === null ? {} : { baseUrl }),
      }) === upstream,
  );
}

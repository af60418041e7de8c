/**
 * What PostgreSQL stores about an upstream for all workers: a pause that it requested, or that its credential needs;
 * the circuit breaker that opens when it keeps failing; and whether an operator has drained it. Each operation is one
 * small statement that uses the database's clock. How often they run is in gate.ts.
 *
 * The circuit breaker's transitions stand here twice (docs/decisions/0029). Text keeps a circuit for each process and
 * only prefers other upstreams (src/text/upstream/health.ts). Tasks share one, whose transitions are statements: a
 * function outside the database would need a lock, a read and a write for each failure. A test compares both.
 */
import { MAX_UPSTREAMS } from '@darkroom/api/facts/limits';
import type { Queryable, Statement } from '../database/database.ts';
import type { UpstreamCooldown } from '../telemetry/metrics-service.ts';

/** When a circuit breaker opens, for how long, and how many may try meanwhile. */
const CIRCUIT_BREAKER = {
  /** Failures in a row: fewer can be a restart of the upstream, more are a queue of lost work. */
  failuresToOpen: 5,
  /** Failures that began longer ago belong to another incident. */
  failureWindowSeconds: 60,
  openSeconds: 30,
  /**
   * How long one probe has before another may begin. Connecting alone can take 10 s, and an image takes half a minute.
   */
  probeSeconds: 60,
} as const;

/** Times in milliseconds of one clock. */
export interface Circuit {
  /** Failures in a row, within the window. */
  readonly failures: number;
  /** When the first of them was. */
  readonly failingSince: number | undefined;
  /** Until when it is open; past: it is open to whoever claims the probe; undefined: it is closed. */
  readonly openUntil: number | undefined;
}

/** The circuit of an upstream that responds: the result of every response. */
export const CLOSED_CIRCUIT: Circuit = { failures: 0, failingSince: undefined, openUntil: undefined };

/**
 * Five failures within the window open the circuit. A failure while it is open, such as that of a probe, extends it.
 */
export function afterFailure(circuit: Circuit, now: number): Circuit {
  const { failuresToOpen, failureWindowSeconds, openSeconds } = CIRCUIT_BREAKER;
  const { failingSince, openUntil } = circuit;
  const isSameIncident = failingSince !== undefined && now - failingSince < failureWindowSeconds * 1000;
  const failures = isSameIncident ? circuit.failures + 1 : 1;
  const isOpen = openUntil !== undefined || failures >= failuresToOpen;
  return {
    failures,
    failingSince: isSameIncident ? failingSince : now,
    openUntil: isOpen ? now + openSeconds * 1000 : undefined,
  };
}

/** The circuit once the caller is the one that tries; undefined: it is closed, or still open, or another one tries. */
export function claimProbe(circuit: Circuit, now: number): Circuit | undefined {
  if (circuit.openUntil === undefined || circuit.openUntil > now) return undefined;
  return { ...circuit, openUntil: now + CIRCUIT_BREAKER.probeSeconds * 1000 };
}

const { failuresToOpen, failureWindowSeconds, openSeconds, probeSeconds } = CIRCUIT_BREAKER;

/** The state of an upstream. Times are milliseconds from now; 0: over, or never was. */
export interface UpstreamState {
  /** How long the upstream asked us to back off, in milliseconds. */
  readonly pausedMs: number;
  /** The circuit breaker is open, or a task tries, for this long. */
  readonly openMs: number;
  /** The circuit breaker has not been closed: a task that comes when `openMs` is 0 has to be the one that tries. */
  readonly isBroken: boolean;
  /** Failures in a row. */
  readonly failures: number;
  /** Whether an API process has published the cap in force (published-caps.ts). */
  readonly isCapPublished: boolean;
  /** That cap; null: none, or none was published. */
  readonly cap: number | null;
  /** How many of its slots are taken. */
  readonly jobs: number;
  /** Why it is paused, if the credential is the reason. */
  readonly pauseReason: PauseReason | null;
  /** Whether an operator lets no new work go there. */
  readonly isDrained: boolean;
  /** What is wrong with its credential, according to its last answer. */
  readonly credentialProblem: PauseReason | null;
}

/** What is wrong with the credential of an upstream: it is not accepted, or has no credit left. */
export type PauseReason = 'unauthorized' | 'out_of_credit';

/** The state of an upstream without recorded problems. */
export const HEALTHY: UpstreamState = {
  pausedMs: 0,
  openMs: 0,
  isBroken: false,
  failures: 0,
  isCapPublished: false,
  cap: null,
  jobs: 0,
  pauseReason: null,
  isDrained: false,
  credentialProblem: null,
};

/** An answer of this age says nothing about the upstream any more. */
export const ANSWER_KNOWN_SECONDS = 3_600;

/**
 * SQL: whether the upstream is known to fail. Once its breaker lets a task try, that is unknown until one has.
 */
export const IS_FAILING = 'coalesce(open_until > now(), false)';

/** How often a process records that an upstream answers. */
export const ANSWER_INTERVAL_MS = 60_000;

const select: Statement = {
  name: 'select_upstream_states',
  text: `SELECT upstream, greatest(0, coalesce(extract(epoch FROM paused_until - now()), 0) * 1000)::float8 AS "pausedMs",
                greatest(0, coalesce(extract(epoch FROM open_until - now()), 0) * 1000)::float8 AS "openMs",
                open_until IS NOT NULL AS "isBroken", failures,
                cap_since IS NOT NULL AS "isCapPublished", cap, slots_taken AS jobs,
                CASE WHEN paused_until > now() THEN pause_reason END AS "pauseReason",
                drained_at IS NOT NULL AS "isDrained", credential_problem AS "credentialProblem"
           FROM upstream_states WHERE upstream = ANY($1)`,
};

/** Reads the states of upstreams. One that is not in the result has no recorded problems. */
export async function readStates(
  database: Queryable,
  upstreams: readonly string[],
): Promise<ReadonlyMap<string, UpstreamState>> {
  const rows = await database.query<UpstreamState & { readonly upstream: string }>(select, [upstreams]);
  return new Map(rows.map((row) => [row.upstream, row]));
}

/** Reads the state of an upstream. */
export async function readState(database: Queryable, upstream: string): Promise<UpstreamState> {
  return (await readStates(database, [upstream])).get(upstream) ?? HEALTHY;
}

const pause: Statement = {
  name: 'pause_upstream',
  text: `INSERT INTO upstream_states AS s (upstream, paused_until, pause_reason, credential_problem)
         VALUES ($1, now() + make_interval(secs => $2), $3, $3)
         ON CONFLICT (upstream) DO UPDATE
            SET paused_until = excluded.paused_until, pause_reason = excluded.pause_reason,
                credential_problem = excluded.credential_problem
          WHERE (s.paused_until >= excluded.paused_until) IS NOT TRUE
            AND (s.paused_until > now() AND s.pause_reason = excluded.pause_reason) IS NOT TRUE
     RETURNING upstream`,
};

/**
 * Pauses an upstream; a longer pause stays, and so does one for the same credential.
 *
 * @returns whether that has changed the pause.
 */
export async function pauseUpstream(
  database: Queryable,
  upstream: string,
  pauseMs: number,
  reason?: PauseReason,
): Promise<boolean> {
  return (await database.query(pause, [upstream, pauseMs / 1000, reason ?? null])).length > 0;
}

const recordProblem: Statement = {
  name: 'record_credential_problem',
  text: `INSERT INTO upstream_states AS s (upstream, credential_problem) VALUES ($1, $2)
         ON CONFLICT (upstream) DO UPDATE SET credential_problem = excluded.credential_problem
          WHERE s.credential_problem IS DISTINCT FROM excluded.credential_problem
     RETURNING upstream`,
};

/** Records what is wrong with the credential of an upstream that is not paused for it. @returns whether that is new. */
export async function recordCredentialProblem(
  database: Queryable,
  upstream: string,
  problem: PauseReason,
): Promise<boolean> {
  return (await database.query(recordProblem, [upstream, problem])).length > 0;
}

const drain: Statement = {
  name: 'drain_upstream',
  text: `INSERT INTO upstream_states AS s (upstream, drained_at) VALUES ($1, now())
         ON CONFLICT (upstream) DO UPDATE SET drained_at = coalesce(s.drained_at, excluded.drained_at)`,
};

/** Lets no new tasks go to an upstream. Its jobs continue. */
export async function drainUpstream(database: Queryable, upstream: string): Promise<void> {
  await database.query(drain, [upstream]);
}

const resume: Statement = {
  name: 'resume_upstream',
  text: `UPDATE upstream_states
            SET drained_at = NULL, paused_until = NULL, pause_reason = NULL, credential_problem = NULL
          WHERE upstream = $1`,
};

/** Ends what an operator can end: that an upstream is drained, and its pause. */
export async function resumeUpstream(database: Queryable, upstream: string): Promise<void> {
  await database.query(resume, [upstream]);
}

const countFailure: Statement = {
  name: 'count_upstream_failure',
  text: `INSERT INTO upstream_states AS s (upstream, failures, failing_since) VALUES ($1, 1, now())
         ON CONFLICT (upstream) DO UPDATE
            SET failures = CASE WHEN s.failing_since > now() - make_interval(secs => ${failureWindowSeconds})
                                THEN s.failures + 1 ELSE 1 END,
                failing_since = CASE WHEN s.failing_since > now() - make_interval(secs => ${failureWindowSeconds})
                                     THEN s.failing_since ELSE now() END,
                open_until = CASE WHEN s.open_until IS NOT NULL
                                    OR (s.failures + 1 >= ${failuresToOpen}
                                        AND s.failing_since > now() - make_interval(secs => ${failureWindowSeconds}))
                                  THEN now() + make_interval(secs => ${openSeconds}) END
     RETURNING s.open_until IS NOT NULL AS "isBroken"`,
};

/**
 * Counts a submit that the upstream did not answer, or answered with 5xx.
 *
 * @returns whether the circuit breaker is open now.
 */
export async function countUpstreamFailure(database: Queryable, upstream: string): Promise<boolean> {
  const [row] = await database.query<{ isBroken: boolean }>(countFailure, [upstream]);
  return row?.isBroken === true;
}

const close: Statement = {
  name: 'close_upstream_breaker',
  text: `INSERT INTO upstream_states AS s (upstream, answered_at) VALUES ($1, now())
         ON CONFLICT (upstream) DO UPDATE
            SET failures = 0, failing_since = NULL, open_until = NULL, credential_problem = NULL, answered_at = now()
          WHERE s.failures > 0 OR s.open_until IS NOT NULL OR s.credential_problem IS NOT NULL
             OR (s.answered_at > now() - interval '${ANSWER_INTERVAL_MS / 2} milliseconds') IS NOT TRUE`,
};

/** The upstream has answered, and accepted its credential: its failures are reset. */
export async function forgetUpstreamFailures(database: Queryable, upstream: string): Promise<void> {
  await database.query(close, [upstream]);
}

const claimProbeStatement: Statement = {
  name: 'claim_upstream_probe',
  text: `UPDATE upstream_states SET open_until = now() + make_interval(secs => ${probeSeconds})
          WHERE upstream = $1 AND open_until <= now() RETURNING upstream`,
};

/** Claims to be the one that tries. @returns false: another task already does. */
export async function claimUpstreamProbe(database: Queryable, upstream: string): Promise<boolean> {
  return (await database.query(claimProbeStatement, [upstream])).length === 1;
}

const list: Statement = {
  name: 'list_upstream_states',
  text: `SELECT upstream, coalesce(paused_until > now(), false) AS "isPaused",
                ${IS_FAILING} AS "isFailing",
                credential_problem AS "credentialProblem",
                CASE WHEN paused_until > now() THEN pause_reason END AS "pauseReason",
                drained_at IS NOT NULL AS "isDrained", slots_taken AS "slotsTaken",
                (SELECT count(*)::integer FROM upstream_waits w WHERE w.upstream = s.upstream) AS waiting
           FROM upstream_states s ORDER BY upstream LIMIT ${MAX_UPSTREAMS}`,
};

/** Every upstream that was ever paused, failing, drained or counted. */
export async function listStates(database: Queryable): Promise<readonly UpstreamCooldown[]> {
  return database.query<UpstreamCooldown>(list);
}

/**
 * The circuit breaker of an upstream: when it opens, for how long, and who may try meanwhile. Text keeps a circuit for
 * each process and only prefers other upstreams (src/text/upstream/health.ts). Tasks share one in PostgreSQL, where each
 * transition is one statement by the database's clock (states.ts); a test compares those statements with the functions
 * here (docs/decisions/0029).
 */
export const CIRCUIT_BREAKER = {
  /** Failures in a row: fewer can be a restart of the upstream, more are a queue of lost work. */
  failuresToOpen: 5,
  /** Failures that began longer ago belong to another incident. */
  failureWindowSeconds: 60,
  openSeconds: 30,
  /** How long one probe has before another may begin. Connecting alone can take 10 s, and an image takes half a minute. */
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

/** Five failures within the window open the circuit. A failure while it is open, such as that of a probe, extends it. */
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

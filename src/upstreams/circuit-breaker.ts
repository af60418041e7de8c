/**
 * When the circuit breaker of an upstream opens, and for how long: for tasks, whose state of it is in PostgreSQL
 * (states.ts), and for text, where each process has its own and only prefers other upstreams (src/text). How each
 * counts is in docs/decisions/0043.
 */
export const CIRCUIT_BREAKER = {
  /** Failures in a row: fewer can be a restart of the upstream, more are a queue of lost work. */
  failuresToOpen: 5,
  /** An older failure belongs to another incident. */
  failureWindowSeconds: 60,
  openSeconds: 30,
} as const;

/** Attempts of steps, as plain values: what Temporal would bring is given, and what it would get is recorded. */
import type { Attempt } from '../../src/generation/attempt.ts';

export interface TestAttempt extends Attempt {
  /** The details of its heartbeats, in order; also those that were attached, which later heartbeats repeat. */
  readonly beats: object[];
}

/** The first attempt of a step, which nothing stops, unless something else is given. */
export function newAttempt(changes: Partial<Attempt> = {}): TestAttempt {
  const beats: object[] = [];
  return {
    number: 1,
    runId: 'run',
    stepId: '1',
    isLocal: false,
    signal: new AbortController().signal,
    isCancelRequested: () => true,
    earlierDetails: undefined,
    heartbeat: (details) => {
      beats.push(details);
    },
    attach: (details) => {
      beats.push(details);
    },
    recordHeartbeat: () => Promise.resolve(true),
    beats,
    ...changes,
  };
}

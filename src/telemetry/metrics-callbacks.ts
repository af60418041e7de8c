/** Callbacks (contract §6): the outcomes of attempts, and how deliveries ended. */
import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

/** Buckets in seconds; an exchange takes 10 s at most (spec §6.2). */
const DURATION_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The result: an HTTP status, or one of the error classes with which attempts are listed. */
export interface AttemptFacts {
  readonly httpStatus?: number;
  readonly errorClass?: 'tls' | 'timeout' | 'unreachable';
}

const OUTCOMES = ['2xx', '3xx', '4xx', '5xx', 'tls', 'timeout', 'unreachable'] as const;
const ENDS = ['delivered', 'exhausted', 'stopped'] as const;

export interface CallbackMetrics {
  attempted(facts: AttemptFacts, seconds: number): void;
  /** Nothing more is sent: it was delivered, the schedule is used up, or the receiver declined further callbacks. */
  ended(state: (typeof ENDS)[number]): void;
}

export function createCallbackMetrics(registry: Registry): CallbackMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'darkroom_callback_attempts_total',
    help: 'Attempts of callbacks by outcome: the class of the HTTP status, or of the error',
    labelNames: ['outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'darkroom_callback_attempt_duration_seconds',
    help: 'How long an attempt of a callback took',
    buckets: DURATION_BUCKETS,
    registers,
  });
  const deliveries = new Counter({
    name: 'darkroom_callback_deliveries_total',
    help: 'Completed deliveries: delivered, exhausted (the schedule is used up) or stopped (410)',
    labelNames: ['state'],
    registers,
  });
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0);
  for (const state of ENDS) deliveries.inc({ state }, 0);
  return {
    attempted({ httpStatus, errorClass }, seconds) {
      const outcome = httpStatus === undefined ? errorClass : `${Math.floor(httpStatus / 100)}xx`;
      attempts.inc({ outcome: outcome ?? 'unreachable' });
      duration.observe(seconds);
    },
    ended: (state) => deliveries.inc({ state }),
  };
}

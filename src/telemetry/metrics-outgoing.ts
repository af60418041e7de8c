/**
 * Outgoing requests of the program: to upstreams by their names, and to URLs that clients chose by their
 * outcomes.
 */
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { childrenOf } from './metrics-children.ts';

/** `answered`, whatever the answer was; `failed`: no answer, or 5xx; `paused`: the upstream asked us to back off. */
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];
const UPSTREAM_OUTCOMES = ['answered', 'failed', 'paused'] as const;

/**
 * `blocked`: we never connect there. `status`: a download was answered without a file. The others are src/egress/'s
 * own kinds.
 */
export type EgressOutcome = (typeof EGRESS_OUTCOMES)[number];
const EGRESS_OUTCOMES = ['ok', 'blocked', 'timeout', 'tls', 'unreachable', 'status', 'too_large', 'stopped'] as const;

const EGRESS_USES = ['post', 'download'] as const;

export interface OutgoingMetrics {
  /** @param upstream its name in the operator's model files, or one derived from its protocol and host. */
  upstreamRequested(upstream: string, outcome: UpstreamOutcome): void;
  egressEnded(use: (typeof EGRESS_USES)[number], outcome: EgressOutcome): void;
}

export function createOutgoingMetrics(registry: Registry): OutgoingMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'darkroom_upstream_requests_total',
    help: 'Submits and text calls to upstreams by outcome: answered, failed (no response or 5xx), paused (busy)',
    labelNames: ['upstream', 'outcome'],
    registers,
  });
  const egress = new Counter({
    name: 'darkroom_egress_requests_total',
    help: 'Requests to addresses that clients or providers chose, by use and outcome',
    labelNames: ['use', 'outcome'],
    registers,
  });
  for (const use of EGRESS_USES) for (const outcome of EGRESS_OUTCOMES) egress.inc({ use, outcome }, 0);

  const upstreams = childrenOf((upstream: string) => ({
    answered: requests.labels({ upstream, outcome: 'answered' }),
    failed: requests.labels({ upstream, outcome: 'failed' }),
    paused: requests.labels({ upstream, outcome: 'paused' }),
  }));
  return {
    upstreamRequested: (upstream, outcome) => upstreams(upstream)[outcome].inc(),
    egressEnded: (use, outcome) => egress.inc({ use, outcome }),
  };
}

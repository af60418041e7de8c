/**
 * What a process counts of its exchanges with others: HTTP requests that arrive, its own requests to upstreams and to
 * addresses of clients, webhooks of providers, and deliveries to Temporal.
 */
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { OUTBOX_KINDS } from './metrics-service.ts';

/** Buckets in seconds, up to the 30 s that a long poll may take (contract §4); event streams exceed them. */
const DURATION_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The client chooses the method: all others share one label. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const OTHER_METHOD = 'other';

/** The route label of requests that match no route. */
export const UNMATCHED_ROUTE = 'unmatched';

export interface RequestMetrics {
  /** A request has arrived. */
  begun(): void;
  /**
   * Its answer has been sent, or its connection has ended.
   *
   * @param route the pattern of its route as the router has it; `UNMATCHED_ROUTE` if there is none.
   */
  ended(route: string, method: string, status: number, seconds: number): void;
  /** What arrived was not a request, or did not arrive in time. */
  rejected(): void;
}

/**
 * HTTP requests by route pattern, method and status. Observed for every request: it allocates nothing once its route
 * was seen.
 */
export function createRequestMetrics(registry: Registry): RequestMetrics {
  const registers = [registry];
  const inFlight = new Gauge({
    name: 'darkroom_http_requests_in_flight',
    help: 'Requests in progress, including open event streams',
    registers,
  });
  const total = new Counter({
    name: 'darkroom_http_requests_total',
    help: 'Requests by route pattern, method and status; 499: the client disconnected before the response',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'darkroom_http_request_duration_seconds',
    help: 'From the head of a request to the last byte of its response',
    labelNames: ['route', 'method', 'status_class'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const broken = new Counter({
    name: 'darkroom_http_broken_requests_total',
    help: 'Connections that were rejected before a request was complete: not HTTP, head too large, too slow',
    registers,
  });

  // By pattern, then by a number derived from method and status.
  const routes = childrenOf((pattern: string) => {
    const route = spelled(pattern);
    return childrenOf((key: number) => {
      const method = METHODS[Math.floor(key / 1000) - 1] ?? OTHER_METHOD;
      const status = key % 1000;
      return {
        total: total.labels({ route, method, status }),
        duration: duration.labels({ route, method, status_class: `${Math.floor(status / 100)}xx` }),
      };
    });
  });

  return {
    begun: () => inFlight.inc(),
    ended(route, method, status, seconds) {
      inFlight.dec();
      const child = routes(route)((METHODS.indexOf(method) + 1) * 1000 + status);
      child.total.inc();
      child.duration.observe(seconds);
    },
    rejected: () => broken.inc(),
  };
}

/** `/v1/tasks/:taskId` in the notation of the API's reference: `/v1/tasks/{taskId}`. */
function spelled(pattern: string): string {
  return pattern.replaceAll(/\*(\w+)/g, '{$1...}').replaceAll(/:(\w+)/g, '{$1}');
}

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

/** Outgoing requests: to upstreams by their names, and to URLs that clients chose by their outcomes. */
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

/** `rejected`: the provider's signature is missing or wrong. */
type HookOutcome = 'hint' | 'challenge' | 'rejected';

export interface HookMetrics {
  /** @param upstream its name, as our own token proves. */
  called(upstream: string, outcome: HookOutcome): void;
}

/** Webhooks of providers, by the names of upstreams. */
export function createHookMetrics(registry: Registry): HookMetrics {
  const calls = new Counter({
    name: 'darkroom_provider_hooks_total',
    help: 'Webhooks of providers by outcome: hint, challenge, rejected (the signature of the provider is missing or wrong)',
    labelNames: ['upstream', 'outcome'],
    registers: [registry],
  });
  const upstreams = childrenOf((upstream: string) => ({
    hint: calls.labels({ upstream, outcome: 'hint' }),
    challenge: calls.labels({ upstream, outcome: 'challenge' }),
    rejected: calls.labels({ upstream, outcome: 'rejected' }),
  }));
  return { called: (upstream, outcome) => upstreams(upstream)[outcome].inc() };
}

export interface OutboxMetrics {
  /** @param kind of outbox row. */
  rejected(kind: string): void;
  /** @param kind of outbox row. */
  delivered(kind: string): void;
  /** No connection was made: the server rejects the credentials, or TLS with it fails. */
  connectionRejected(): void;
  connected(): void;
}

/** A rejection is over if it has not been repeated for this long, in milliseconds: rows are retried each minute. */
const REJECTS_MS = 150_000;

/** The label of the connection, in addition to the kinds of rows. */
const CONNECTION = 'connection';

/** Deliveries and connections that Temporal rejected: how often, and whether it rejects them now. */
export function createOutboxMetrics(registry: Registry): OutboxMetrics {
  const rejections = new Counter({
    name: 'darkroom_outbox_refused_total',
    help: 'Rows of the outbox that Temporal rejected, by kind, and connections that it rejected; each attempt counts',
    labelNames: ['kind'],
    registers: [registry],
  });
  /** By kind: when the last rejection was, if nothing was accepted since. */
  const rejectedAt = new Map<string, number>();
  const rejects = new Gauge({
    name: 'darkroom_temporal_rejects',
    help: 'Whether Temporal rejects outbox rows of a kind, or connections, of this process at present',
    labelNames: ['kind'],
    registers: [registry],
    collect(): void {
      for (const kind of [...OUTBOX_KINDS, CONNECTION]) {
        rejects.set({ kind }, performance.now() - (rejectedAt.get(kind) ?? -Infinity) < REJECTS_MS ? 1 : 0);
      }
    },
  });
  for (const kind of [...OUTBOX_KINDS, CONNECTION]) rejections.inc({ kind }, 0);
  const reject = (kind: string): void => {
    rejections.inc({ kind });
    rejectedAt.set(kind, performance.now());
  };
  return {
    rejected: reject,
    delivered: (kind) => void rejectedAt.delete(kind),
    connectionRejected: () => reject(CONNECTION),
    connected: () => void rejectedAt.delete(CONNECTION),
  };
}

/**
 * Children of an instrument, bound to their labels on first use: looking up and validating labels is most of the cost
 * of an observation.
 *
 * @param make binds the child of a key.
 * @returns the same child for the same key.
 */
export function childrenOf<Key, Child>(make: (key: Key) => Child): (key: Key) => Child {
  const children = new Map<Key, Child>();
  return (key) => {
    let child = children.get(key);
    if (child === undefined) {
      child = make(key);
      children.set(key, child);
    }
    return child;
  };
}

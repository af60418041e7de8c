/**
 * HTTP requests by route pattern, method and status. This runs for every request: an observation allocates nothing
 * once its route was seen.
 */
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { childrenOf } from './metrics-children.ts';

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

/**
 * What a process counts about itself, for Prometheus: one object per process, made by the composition root, with an
 * instrument for everything that is observed where it happens. Values that are read at the moment of a scrape are in
 * metrics-service.ts.
 *
 * Labels come from closed lists, from route patterns and from the operator's own model files. Values from a client or a
 * provider never become labels: each id, URL or string would create a series of its own.
 */
import { Registry } from 'prom-client';
import { createCallbackMetrics } from './metrics-callbacks.ts';
import type { CallbackMetrics } from './metrics-callbacks.ts';
import { createHookMetrics } from './metrics-hooks.ts';
import type { HookMetrics } from './metrics-hooks.ts';
import { createMediaMetrics } from './metrics-media.ts';
import type { MediaMetrics } from './metrics-media.ts';
import { createOutboxMetrics } from './metrics-outbox.ts';
import type { OutboxMetrics } from './metrics-outbox.ts';
import { createOutgoingMetrics } from './metrics-outgoing.ts';
import type { OutgoingMetrics } from './metrics-outgoing.ts';
import { createPassMetrics } from './metrics-passes.ts';
import type { PassMetrics } from './metrics-passes.ts';
import { createRequestMetrics } from './metrics-traffic.ts';
import type { RequestMetrics } from './metrics-traffic.ts';
import { createShareMetrics } from './metrics-shares.ts';
import type { ShareMetrics } from './metrics-shares.ts';
import { createTaskMetrics } from './metrics-work.ts';
import type { TaskMetrics } from './metrics-work.ts';
import { createTextMetrics } from './metrics-text.ts';
import type { TextMetrics } from './metrics-text.ts';

/** The content type of Prometheus' text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface Metrics {
  /** Contains all instruments of the process. */
  readonly registry: Registry;
  readonly requests: RequestMetrics;
  readonly tasks: TaskMetrics;
  readonly callbacks: CallbackMetrics;
  readonly hooks: HookMetrics;
  readonly text: TextMetrics;
  readonly outgoing: OutgoingMetrics;
  readonly shares: ShareMetrics;
  readonly media: MediaMetrics;
  readonly passes: PassMetrics;
  readonly outbox: OutboxMetrics;
}

/** The instruments of one process, all at zero. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  return {
    registry,
    requests: createRequestMetrics(registry),
    tasks: createTaskMetrics(registry),
    callbacks: createCallbackMetrics(registry),
    hooks: createHookMetrics(registry),
    text: createTextMetrics(registry),
    outgoing: createOutgoingMetrics(registry),
    shares: createShareMetrics(registry),
    media: createMediaMetrics(registry),
    passes: createPassMetrics(registry),
    outbox: createOutboxMetrics(registry),
  };
}

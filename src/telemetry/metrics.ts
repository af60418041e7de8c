/**
 * What a process counts about itself, for Prometheus: one object per process, made by the composition root, with an
 * instrument for everything that is observed where it happens: exchanges with others (metrics-traffic.ts), work
 * (metrics-work.ts), and the resources of the process itself, which are here. Values that are read at the moment of a
 * scrape are in metrics-service.ts.
 *
 * Labels come from closed lists, from route patterns and from the operator's own model files. Values from a client or a
 * provider never become labels: each id, URL or string would create a series of its own.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import { INSPECTION_FAILURES } from '@darkroom/media/inspection-failure';
import type { InspectionFailure } from '@darkroom/media/inspection-failure';
import {
  createHookMetrics,
  createOutboxMetrics,
  createOutgoingMetrics,
  createRequestMetrics,
} from './metrics-traffic.ts';
import type { HookMetrics, OutboxMetrics, OutgoingMetrics, RequestMetrics } from './metrics-traffic.ts';
import { createCallbackMetrics, createPassMetrics, createTaskMetrics, createTextMetrics } from './metrics-work.ts';
import type { CallbackMetrics, PassMetrics, TaskMetrics, TextMetrics } from './metrics-work.ts';

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

/** Everything that src/limits/tenant-shares.ts distributes. */
const SHARED_RESOURCES = [
  'account_transactions',
  'answer_threads',
  'archiving_slots',
  'body_threads',
  'callback_deliveries',
  'connections',
  'engine_threads',
  'expensive_reads',
  'film_slots',
  'frame_decoders',
  'image_fetches',
  'input_fetches',
  'locked_account_claims',
  'long_renderings',
  'media_inspections',
  'patient_inspections',
  'previews',
  'request_bytes',
  'resolver',
  'stop_requests',
  'suspect_inspections',
  'text_threads',
  'uploads',
  'upstream_stop_requests',
  'upstream_transactions',
  'waiting_answers',
] as const;
export type SharedResource = (typeof SHARED_RESOURCES)[number];

export interface ShareUsage {
  readonly inUse: number;
  /** Infinite if only tenants are limited. */
  readonly capacity: number;
  /** How many tenants hold some or wait for some. */
  readonly tenants: number;
  readonly waiting: number;
}

export interface ShareMetrics {
  /** From now on the usage is read at each scrape. A second usage of the same resource is added to the first. */
  watch(resource: SharedResource, usage: () => ShareUsage): void;
  /** A tenant got none: its own share was used up, or all of it was in use. */
  rejected(resource: SharedResource, by: 'tenant' | 'process'): void;
}

/**
 * How much of each limited resource that tenants share is in use, how many wait for it, and how often there was none.
 */
function createShareMetrics(registry: Registry): ShareMetrics {
  const watched = new Map<SharedResource, (() => ShareUsage)[]>();
  const registers = [registry];
  const gauge = (name: string, help: string, read: (usage: ShareUsage) => number): void => {
    const shown = new Gauge({
      name,
      help,
      labelNames: ['resource'],
      registers,
      collect() {
        for (const [resource, usages] of watched) {
          const sum = usages.reduce((total, usage) => total + read(usage()), 0);
          if (Number.isFinite(sum)) shown.set({ resource }, sum);
        }
      },
    });
  };
  gauge('darkroom_share_units_in_use', 'Units of a shared resource that are held', ({ inUse }) => inUse);
  gauge('darkroom_share_units', 'Units of a shared resource that there are', ({ capacity }) => capacity);
  gauge('darkroom_share_tenants', 'Tenants that hold or wait for a shared resource', ({ tenants }) => tenants);
  gauge('darkroom_share_waiting', 'Requests that wait for a shared resource', ({ waiting }) => waiting);
  const rejected = new Counter({
    name: 'darkroom_share_refused_total',
    help: 'Requests that were denied a shared resource: the share of their tenant was used up, or all of it was in use',
    labelNames: ['resource', 'by'],
    registers,
  });
  for (const resource of SHARED_RESOURCES) {
    for (const by of ['tenant', 'process'] as const) rejected.inc({ resource, by }, 0);
  }
  return {
    watch(resource, usage) {
      const usages = watched.get(resource);
      if (usages === undefined) watched.set(resource, [usage]);
      else usages.push(usage);
    },
    rejected: (resource, by) => rejected.inc({ resource, by }),
  };
}

interface MediaMetrics {
  /** What can be isolated, and whether it is: detected once, when the process starts. */
  isolation(name: string, isIsolated: boolean): void;
  /** A process was killed while it inspected a file, or ended by itself. */
  inspectionKilled(reason: InspectionFailure): void;
}

/** How well the processes that read third-party media are isolated on this machine, and which of them were killed. */
function createMediaMetrics(registry: Registry): MediaMetrics {
  const gauge = new Gauge({
    name: 'darkroom_media_sandbox',
    help: 'Whether the processes that read media from clients and providers are isolated in this way (1) or not (0)',
    labelNames: ['isolation'],
    registers: [registry],
  });
  const killed = new Counter({
    name: 'darkroom_media_inspections_killed_total',
    help: 'Processes that were ended, or ended, in the middle of inspecting a file, by reason',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of INSPECTION_FAILURES) killed.inc({ reason }, 0);
  return {
    isolation: (isolation, isIsolated) => gauge.set({ isolation }, isIsolated ? 1 : 0),
    inspectionKilled: (reason) => killed.inc({ reason }),
  };
}

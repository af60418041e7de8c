/**
 * How much of each limited resource that tenants share is in use, how many wait for it, and how often there was none.
 */
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/** Everything that src/limits/tenant-shares.ts distributes. */
export const SHARED_RESOURCES = [
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

export function createShareMetrics(registry: Registry): ShareMetrics {
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

/** How well the processes that read media of others are isolated on this machine. */
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

export interface MediaMetrics {
  /** What can be isolated, and whether it is: found out once, when the process starts. */
  isolation(name: string, isIsolated: boolean): void;
}

export function createMediaMetrics(registry: Registry): MediaMetrics {
  const gauge = new Gauge({
    name: 'darkroom_media_sandbox',
    help: 'Whether the processes that read media of others are isolated in this way (1) or not (0)',
    labelNames: ['isolation'],
    registers: [registry],
  });
  return { isolation: (isolation, isIsolated) => gauge.set({ isolation }, isIsolated ? 1 : 0) };
}

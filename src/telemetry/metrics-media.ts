/** How well the processes that read third-party media are isolated on this machine, and which of them were killed. */
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { INSPECTION_FAILURES } from '@darkroom/media/inspection-failure';
import type { InspectionFailure } from '@darkroom/media/inspection-failure';

export interface MediaMetrics {
  /** What can be isolated, and whether it is: detected once, when the process starts. */
  isolation(name: string, isIsolated: boolean): void;
  /** A process was killed while it inspected a file, or ended by itself. */
  inspectionKilled(reason: InspectionFailure): void;
}

export function createMediaMetrics(registry: Registry): MediaMetrics {
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

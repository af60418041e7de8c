/** Single items that a pass over many could not process. */
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { FAILING_KINDS } from '../domain/failing-kind.ts';
import type { FailingKind } from '../domain/failing-kind.ts';

export interface PassMetrics {
  itemsFailed(kind: FailingKind, count: number): void;
}

export function createPassMetrics(registry: Registry): PassMetrics {
  const failures = new Counter({
    name: 'darkroom_pass_item_failures_total',
    help: 'Items that a pass could not process, by kind; each failed retry counts',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of FAILING_KINDS) failures.inc({ kind }, 0);
  return { itemsFailed: (kind, count) => failures.inc({ kind }, count) };
}

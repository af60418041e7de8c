/** What passes over many rows have done: single items that one could not process, and old rows that it pruned. */
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { FAILING_KINDS } from '../domain/failing-kind.ts';
import type { FailingKind } from '../domain/failing-kind.ts';

const PRUNED_KINDS = ['tasks', 'text_calls', 'files'] as const;
export type PrunedKind = (typeof PRUNED_KINDS)[number];

export interface PassMetrics {
  itemsFailed(kind: FailingKind, count: number): void;
  /** Counted when their deletion is committed. */
  rowsPruned(kind: PrunedKind, count: number): void;
}

export function createPassMetrics(registry: Registry): PassMetrics {
  const failures = new Counter({
    name: 'darkroom_pass_item_failures_total',
    help: 'Items that a pass could not process, by kind; each failed retry counts',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of FAILING_KINDS) failures.inc({ kind }, 0);
  const pruned = new Counter({
    name: 'darkroom_pruned_total',
    help: 'Rows of old tasks, text calls and files that were deleted, by kind; the first two were exported before',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of PRUNED_KINDS) pruned.inc({ kind }, 0);
  return {
    itemsFailed: (kind, count) => failures.inc({ kind }, count),
    rowsPruned: (kind, count) => pruned.inc({ kind }, count),
  };
}

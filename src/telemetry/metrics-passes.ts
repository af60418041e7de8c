/** What passes over many rows have done: single items that one could not process, and old rows that it pruned. */
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { FAILING_KINDS } from '../domain/failing-kind.ts';
import type { FailingKind } from '../domain/failing-kind.ts';

const PRUNED_KINDS = ['tasks', 'text_calls', 'files'] as const;
export type PrunedKind = (typeof PRUNED_KINDS)[number];

/** A problem of a model file, and the position in it, if it has one. */
interface ModelFileProblem {
  readonly file: string;
  readonly member: string | undefined;
}

/** How many bad model files have a series of their own; the others share one: a release can break all of them. */
const MAX_NAMED_FILES = 20;
const OTHER_FILES = { file: 'others', member: '' };

export interface PassMetrics {
  itemsFailed(kind: FailingKind, count: number): void;
  /** All problems of the model files that this process rejects now. */
  modelFilesRejected(problems: readonly ModelFileProblem[]): void;
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
  const rejected = new Gauge({
    name: 'darkroom_model_files_rejected',
    help: 'Problems of a model file that this process rejects at present, with the position of the first one',
    labelNames: ['file', 'member'],
    registers: [registry],
  });
  const pruned = new Counter({
    name: 'darkroom_pruned_total',
    help: 'Rows of old tasks, text calls and files that were deleted, by kind; the first two were exported before',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of PRUNED_KINDS) pruned.inc({ kind }, 0);
  return {
    itemsFailed: (kind, count) => failures.inc({ kind }, count),
    modelFilesRejected(problems) {
      rejected.reset();
      const files = new Map<string, { file: string; member: string }>();
      for (const { file, member = '' } of problems) {
        const labels = files.get(file) ?? (files.size < MAX_NAMED_FILES ? { file, member } : OTHER_FILES);
        files.set(file, labels);
        rejected.inc(labels);
      }
      if (files.size > 0) failures.inc({ kind: 'model_file' }, files.size);
    },
    rowsPruned: (kind, count) => pruned.inc({ kind }, count),
  };
}

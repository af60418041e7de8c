/**
 * How tasks end and how long their stages take, observed by the process that settles one: usually the worker, or the
 * api if a task is cancelled before it was launched. Also what the repair had to do.
 */
import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import type { FailureReason } from '../domain/failure-reason.ts';
import { REPAIR_KINDS } from '../domain/repair-kind.ts';
import type { RepairKind } from '../domain/repair-kind.ts';
import type { TerminalStatus } from '../domain/task-status.ts';
import { childrenOf } from './metrics-children.ts';

/** Buckets in seconds, from an image of an embedded engine to a video that takes an hour. */
const STAGE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** How a task ended and how long each stage took; stages that it did not reach are null. */
export interface SettledTask {
  readonly model: string;
  readonly status: TerminalStatus;
  readonly reason: FailureReason | null;
  readonly queuedSeconds: number;
  readonly handlingSeconds: number | null;
  readonly archivingSeconds: number | null;
  readonly totalSeconds: number;
}

export interface TaskMetrics {
  readonly settled: (task: SettledTask) => void;
  repaired(kind: RepairKind, count?: number): void;
}

export function createTaskMetrics(registry: Registry): TaskMetrics {
  const registers = [registry];
  const ends = new Counter({
    name: 'darkroom_tasks_settled_total',
    help: 'Tasks that this process ended, by model, status and reason of the failure',
    labelNames: ['model', 'status', 'reason'],
    registers,
  });
  const stages = new Histogram({
    name: 'darkroom_task_stage_duration_seconds',
    help: 'How long tasks were queued, handling, archiving and altogether (total), by model; observed when they end',
    labelNames: ['model', 'stage'],
    buckets: STAGE_BUCKETS,
    registers,
  });
  const repairs = new Counter({
    name: 'darkroom_repairs_total',
    help: 'Repairs of tasks and callbacks, by kind',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of REPAIR_KINDS) repairs.inc({ kind }, 0);

  const models = childrenOf((model: string) => ({
    queued: stages.labels({ model, stage: 'queued' }),
    handling: stages.labels({ model, stage: 'handling' }),
    archiving: stages.labels({ model, stage: 'archiving' }),
    total: stages.labels({ model, stage: 'total' }),
  }));

  return {
    settled(task) {
      ends.inc({ model: task.model, status: task.status, reason: task.reason ?? '' });
      const model = models(task.model);
      model.queued.observe(task.queuedSeconds);
      if (task.handlingSeconds !== null) model.handling.observe(task.handlingSeconds);
      if (task.archivingSeconds !== null) model.archiving.observe(task.archivingSeconds);
      model.total.observe(task.totalSeconds);
    },
    repaired: (kind, count = 1) => repairs.inc({ kind }, count),
  };
}

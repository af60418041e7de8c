/** The service as its operators see it: where it is reached, its upstreams, any one task. */
import { MAX_UPSTREAMS } from '@darkroom/api/facts/limits';
import { idleUpstream } from '../upstreams/operations.ts';
import type { UpstreamReport } from '../upstreams/operations.ts';
import type { Static } from 'typebox';
import type { AdminTaskSchema, UpstreamSchema, UpstreamsSchema } from '@darkroom/api/admin/admin-service';
import type { UpstreamCondition } from '@darkroom/api/admin/admin-service';
import { secondsOf } from './unix-seconds.ts';
import type { TaskDetail } from '../tasks/record/read.ts';
import type { WorkAtUpstream } from '../tasks/lifecycle/generations.ts';
import { attemptsAt } from '../tasks/record/timeline.ts';
import type { TaskEvent } from '../tasks/record/timeline.ts';
import { formatUsd } from '../domain/money.ts';

/** @param caps of the upstreams that models name. */
export function presentUpstreams(
  reports: readonly UpstreamReport[],
  caps: ReadonlyMap<string, readonly number[]>,
): Static<typeof UpstreamsSchema> {
  const reported = new Set(reports.map(({ upstream }) => upstream));
  const unheardOf = [...caps.keys()].filter((name) => !reported.has(name)).map(idleUpstream);
  const all = [...reports, ...unheardOf].toSorted((a, b) => (a.upstream < b.upstream ? -1 : 1));
  return { upstreams: all.slice(0, MAX_UPSTREAMS).map((report) => presentUpstream(report, caps)) };
}

/** @param caps of the upstreams that models name. */
export function presentUpstream(
  report: UpstreamReport,
  caps: ReadonlyMap<string, readonly number[]>,
): Static<typeof UpstreamSchema> {
  const { upstream, pausedUntil, pauseReason, drainedAt, openUntil, failingSince } = report;
  return {
    upstream,
    state: stateOf(report),
    pausedUntil: secondsOf(pausedUntil ?? undefined),
    ...(pauseReason === null ? {} : { pauseReason }),
    drainedSince: secondsOf(drainedAt ?? undefined),
    failingSince: secondsOf(failingSince ?? undefined),
    retryAt: secondsOf(openUntil ?? undefined),
    answeredAt: secondsOf(report.answeredAt ?? undefined),
    failures: report.failures,
    slotsTaken: report.slotsTaken,
    waiting: report.waiting,
    caps: [...(caps.get(upstream) ?? [])],
  };
}

function stateOf({ drainedAt, pausedUntil, pauseReason, ...is }: UpstreamReport): UpstreamCondition {
  if (drainedAt !== null) return 'drained';
  if (is.isFailing) return 'failing';
  if (pausedUntil !== null) return 'paused';
  if (pauseReason !== null) return 'failing';
  return is.isAnswering ? 'open' : 'unknown';
}

/** @param work undefined: no upstream has it. @param workflowUrl undefined: it is not configured where Temporal's Web UI is. */
export function presentAdminTask(
  task: TaskDetail,
  events: readonly TaskEvent[],
  work: WorkAtUpstream | undefined,
  workflowUrl: string | undefined,
): Static<typeof AdminTaskSchema> {
  const { callback } = task;
  return {
    taskId: task.id,
    accountId: task.accountId,
    keyId: task.keyId,
    model: task.model,
    status: task.status,
    ...(task.errorReason === null ? {} : { reason: task.errorReason }),
    created: task.createdAt,
    started: task.startedAt ?? 0,
    completed: task.completedAt ?? 0,
    held: formatUsd(heldNow(task)),
    captured: formatUsd(task.capturedMicroUsd ?? 0n),
    currency: 'USD',
    outputs: task.outputs.length,
    ...(work === undefined
      ? {}
      : {
          work: { upstream: work.upstream, state: work.state, ...(work.jobId === null ? {} : { jobId: work.jobId }) },
        }),
    attempts: attemptsAt(events, work).map(({ reason, ...attempt }) => ({
      ...attempt,
      ...(reason === undefined ? {} : { reason }),
    })),
    ...(callback === null ? {} : { callback: { state: callback.state, attempts: callback.attempts } }),
    events: events.map(({ seq, at, type }) => ({ seq, at, type })),
    ...(workflowUrl === undefined ? {} : { workflowUrl }),
  };
}

/** What is held for a task now: a settlement captures or releases all of it. */
export function heldNow({ completedAt, heldMicroUsd }: Pick<TaskDetail, 'completedAt' | 'heldMicroUsd'>): bigint {
  return completedAt === null ? heldMicroUsd : 0n;
}

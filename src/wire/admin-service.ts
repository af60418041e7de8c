/** The service as its operators see it: where it is reached, its upstreams, any one task. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { TASK_STATUSES } from '../domain/task-status.ts';
import type { TaskStatus } from '../domain/task-status.ts';
import { formatUsd } from '../domain/money.ts';
import type { TaskDetail } from '../tasks/record/read.ts';
import { TIMELINE_PAGE } from '../tasks/record/timeline.ts';
import type { TaskEvent } from '../tasks/record/timeline.ts';
import { MAX_UPSTREAMS, quietUpstream } from '../upstreams/standings.ts';
import type { UpstreamReport } from '../upstreams/standings.ts';
import { Currency, UnixSeconds, secondsOf, unixSecondsOrZero, usd } from './fields.ts';

const Count = Type.Integer({ minimum: 0 });
const Status = Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] });

export const AdminServiceSchema = Type.Object(
  {
    baseUrl: Type.String({ description: 'Where programs reach the API: `<PUBLIC_URL>/v1`.' }),
    workflowsUrl: Type.Optional(
      Type.String({
        description: "Temporal's Web UI, below which each workflow has its page; only where it is known.",
      }),
    ),
    isEmbedded: Type.Boolean({ description: 'Whether it runs its own PostgreSQL and Temporal.' }),
  },
  { additionalProperties: false },
);

export const UpstreamsSchema = Type.Object(
  {
    upstreams: Type.Array(
      Type.Object(
        {
          upstream: Type.String({ description: 'Its id, else its protocol and host.' }),
          state: Type.Unsafe<UpstreamCondition>({
            type: 'string',
            enum: ['open', 'paused', 'failing'],
            description: '`paused`: it asked to be left alone. `failing`: it kept failing, and its breaker is open.',
          }),
          pausedUntil: unixSecondsOrZero('it is not paused.'),
          failingSince: unixSecondsOrZero('its last answer was none of its failures.'),
          retryAt: unixSecondsOrZero('its breaker is closed. After that one task tries.'),
          failures: Type.Integer({ minimum: 0, description: 'In a row.' }),
          slotsTaken: Type.Integer({ minimum: 0, description: 'Jobs under way there, where they are capped.' }),
          caps: Type.Array(Type.Integer({ minimum: 1 }), {
            description:
              'How many jobs may be under way there at once, over all workers: usually one number, more where the models that go there say different ones, of which the smallest holds. Empty: no cap.',
          }),
        },
        { additionalProperties: false },
      ),
      {
        maxItems: MAX_UPSTREAMS,
        description: 'Each that a model names, and each that was ever paused, failing or capped; by name.',
      },
    ),
  },
  { additionalProperties: false },
);

export type UpstreamCondition = 'open' | 'paused' | 'failing';

/** @param caps of the upstreams that models name. */
export function presentUpstreams(
  reports: readonly UpstreamReport[],
  caps: ReadonlyMap<string, readonly number[]>,
): Static<typeof UpstreamsSchema> {
  const reported = new Set(reports.map(({ upstream }) => upstream));
  const unheardOf = [...caps.keys()].filter((name) => !reported.has(name)).map(quietUpstream);
  const all = [...reports, ...unheardOf].toSorted((a, b) => (a.upstream < b.upstream ? -1 : 1));
  return {
    upstreams: all
      .slice(0, MAX_UPSTREAMS)
      .map(({ upstream, pausedUntil, openUntil, failingSince, failures, slotsTaken }) => ({
        upstream,
        state: openUntil !== null ? 'failing' : pausedUntil !== null ? 'paused' : 'open',
        pausedUntil: secondsOf(pausedUntil ?? undefined),
        failingSince: secondsOf(failingSince ?? undefined),
        retryAt: secondsOf(openUntil ?? undefined),
        failures,
        slotsTaken,
        caps: [...(caps.get(upstream) ?? [])],
      })),
  };
}

/** Neither what its owner sent nor its results: operators may not read those. */
export const AdminTaskSchema = Type.Object(
  {
    taskId: Type.String(),
    accountId: Type.String(),
    keyId: Type.String(),
    model: Type.String(),
    status: Status,
    reason: Type.Optional(Type.String({ description: 'Why it failed; only where it did.' })),
    created: UnixSeconds,
    started: unixSecondsOrZero('not yet.'),
    completed: unixSecondsOrZero('not yet.'),
    held: usd('What was held for it.'),
    captured: usd('What it cost; 0 while it is not over.'),
    currency: Currency,
    outputs: Type.Integer({ minimum: 0, description: 'How many were stored.' }),
    callback: Type.Optional(
      Type.Object(
        { state: Type.String(), attempts: Count },
        { additionalProperties: false, description: 'Only where it has one.' },
      ),
    ),
    events: Type.Array(
      Type.Object(
        { seq: Type.Integer({ minimum: 1 }), at: UnixSeconds, type: Type.String() },
        { additionalProperties: false },
      ),
      { maxItems: TIMELINE_PAGE, description: 'Its timeline, oldest first.' },
    ),
    workflowUrl: Type.Optional(
      Type.String({ description: "Its workflow in Temporal's Web UI; only where that is known." }),
    ),
  },
  { additionalProperties: false },
);

/** @param workflowUrl undefined: it is not configured where Temporal's Web UI is. */
export function presentAdminTask(
  task: TaskDetail,
  events: readonly TaskEvent[],
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
    held: formatUsd(task.heldMicroUsd),
    captured: formatUsd(task.capturedMicroUsd ?? 0n),
    currency: 'USD',
    outputs: task.outputs.length,
    ...(callback === null ? {} : { callback: { state: callback.state, attempts: callback.attempts } }),
    events: events.map(({ seq, at, type }) => ({ seq, at, type })),
    ...(workflowUrl === undefined ? {} : { workflowUrl }),
  };
}

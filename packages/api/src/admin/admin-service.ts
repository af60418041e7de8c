/** The service as its operators see it: where it is reached, its upstreams, any one task. */
import { Type } from 'typebox';
import type { TaskStatus } from '../facts/task-status.ts';
import { TASK_STATUSES } from '../facts/task-status.ts';
import { Currency, UnixSeconds, unixSecondsOrZero, usd } from '../tasks/fields.ts';
import { MAX_EVENTS_PER_PAGE, MAX_UPSTREAMS } from '../facts/limits.ts';

const Count = Type.Integer({ minimum: 0 });

const Status = Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] });

export const AdminServiceSchema = Type.Object(
  {
    baseUrl: Type.String({ description: 'The base URL of the API: `<PUBLIC_URL>/v1`.' }),
    workflowsUrl: Type.Optional(
      Type.String({
        description: "The URL of the workflows in Temporal's Web UI. Only if it is configured.",
      }),
    ),
    isEmbedded: Type.Boolean({ description: 'Whether the service runs its own PostgreSQL and Temporal.' }),
  },
  { additionalProperties: false },
);

export const UpstreamSchema = Type.Object(
  {
    upstream: Type.String({
      description:
        'The id of the upstream, or its protocol and host if it has no id. For text models, it begins with `text:`.',
    }),
    state: Type.Unsafe<UpstreamCondition>({
      type: 'string',
      enum: ['open', 'paused', 'failing', 'drained', 'unknown'],
      description:
        '`open`: the upstream answered within the last hour. `paused`: the upstream requested a pause, or its credential needs one. `failing`: the upstream failed repeatedly and its circuit breaker is open, until `retryAt`, or it rejected the credential. `drained`: an operator lets no new work go there; its jobs continue. `unknown`: nothing used it for a while, or not since `retryAt`, so that nobody knows.',
    }),
    pausedUntil: unixSecondsOrZero('the upstream is not paused.'),
    pauseReason: Type.Optional(
      Type.Unsafe<'unauthorized' | 'out_of_credit'>({
        type: 'string',
        enum: ['unauthorized', 'out_of_credit'],
        description:
          '`unauthorized`: the upstream rejected the credential, or none is configured. `out_of_credit`: the credential had no credit left. Absent if the last response accepted it.',
      }),
    ),
    drainedSince: unixSecondsOrZero('the upstream is not drained.'),
    failingSince: unixSecondsOrZero('the last response was not a failure.'),
    answeredAt: unixSecondsOrZero('no response was recorded. It is at most a minute behind.'),
    retryAt: unixSecondsOrZero('the circuit breaker is closed. After that time, one task tries the upstream.'),
    failures: Type.Integer({ minimum: 0, description: 'The number of consecutive failures.' }),
    slotsTaken: Type.Integer({
      minimum: 0,
      description:
        'The number of jobs in progress, if the upstream has a concurrency limit or a route chooses the least busy one.',
    }),
    waiting: Type.Integer({
      minimum: 0,
      description: 'The number of tasks in its queue. One that waits for any member of a pool is in several.',
    }),
    caps: Type.Array(Type.Integer({ minimum: 1 }), {
      description:
        'The concurrency limits of the upstream over all workers: usually one number, or several if the models that use the upstream declare different ones, of which the smallest applies. Empty if there is no limit.',
    }),
  },
  { additionalProperties: false },
);

export const UpstreamsSchema = Type.Object(
  {
    upstreams: Type.Array(UpstreamSchema, {
      maxItems: MAX_UPSTREAMS,
      description: 'The upstreams that a model names or that were ever used, by name.',
    }),
  },
  { additionalProperties: false },
);

export type UpstreamCondition = 'open' | 'paused' | 'failing' | 'drained' | 'unknown';

/** Neither what its owner sent nor its results: operators may not read those. */
export const AdminTaskSchema = Type.Object(
  {
    taskId: Type.String(),
    accountId: Type.String(),
    keyId: Type.String(),
    model: Type.String(),
    status: Status,
    reason: Type.Optional(Type.String({ description: 'Why the task failed. Absent if it did not fail.' })),
    created: UnixSeconds,
    started: unixSecondsOrZero('not yet.'),
    completed: unixSecondsOrZero('not yet.'),
    held: usd('The amount that is held for the task. 0 once it has ended.'),
    captured: usd('The cost of the task. 0 until it has ended.'),
    currency: Currency,
    outputs: Type.Integer({ minimum: 0, description: 'The number of stored outputs.' }),
    callback: Type.Optional(
      Type.Object(
        { state: Type.String(), attempts: Count },
        { additionalProperties: false, description: 'The callback. Absent if the task has none.' },
      ),
    ),
    work: Type.Optional(
      Type.Object(
        {
          upstream: Type.String({ description: 'Its name, as in `GET /admin/upstreams`.' }),
          state: Type.String({
            description:
              '`intent`: the work may have been sent. `submitted`: the upstream has it as a job. `produced`: it is done.',
          }),
          jobId: Type.Optional(Type.String({ description: 'The ID of the job at the upstream.' })),
        },
        { additionalProperties: false, description: 'Which upstream has the work. Absent if none has it.' },
      ),
    ),
    attempts: Type.Array(
      Type.Object(
        {
          at: UnixSeconds,
          upstream: Type.String({
            description: 'The id of the upstream, or its position in the route, from 1, or its name in `work`.',
          }),
          outcome: Type.Unsafe<'accepted' | 'rejected' | 'unanswered' | 'failed'>({
            type: 'string',
            enum: ['accepted', 'rejected', 'unanswered', 'failed'],
          }),
          reason: Type.Optional(Type.String()),
        },
        { additionalProperties: false },
      ),
      { maxItems: MAX_EVENTS_PER_PAGE, description: 'What upstreams did with the task, oldest first.' },
    ),
    events: Type.Array(
      Type.Object(
        { seq: Type.Integer({ minimum: 1 }), at: UnixSeconds, type: Type.String() },
        { additionalProperties: false },
      ),
      { maxItems: MAX_EVENTS_PER_PAGE, description: 'The timeline of the task, oldest first.' },
    ),
    workflowUrl: Type.Optional(
      Type.String({ description: "The URL of the workflow in Temporal's Web UI. Only if it is configured." }),
    ),
  },
  { additionalProperties: false },
);

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
    baseUrl: Type.String({ description: 'Where programs reach the API: `<PUBLIC_URL>/v1`.' }),
    workflowsUrl: Type.Optional(
      Type.String({
        description: "Temporal's Web UI, below which each workflow has its page; only if it is configured.",
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
            description:
              '`paused`: it requires a pause. `failing`: it failed repeatedly, and its circuit breaker is open.',
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
      { maxItems: MAX_EVENTS_PER_PAGE, description: 'Its timeline, oldest first.' },
    ),
    workflowUrl: Type.Optional(
      Type.String({ description: "Its workflow in Temporal's Web UI; only if that is configured." }),
    ),
  },
  { additionalProperties: false },
);

/**
 * A task as its owner sees it (spec §2.4, contract §3): the `data` of `GET /tasks/{id}`, and the whole body of a
 * callback. URLs are signed here, that is, whenever a task is read.
 */
import { Type } from 'typebox';
import type { TaskStatus } from '../facts/task-status.ts';
import { TASK_STATUSES } from '../facts/task-status.ts';
import { FIELD_PATTERN, MAX_FIELD_LENGTH } from '../facts/input-fault.ts';
import type { Static } from 'typebox';

const UnixSeconds = Type.Integer({ minimum: 0 });

const Usd = Type.String({ pattern: '^-?[0-9]+(\\.[0-9]{1,6})?$' });

const Tier = Type.Unsafe<'temp' | 'persistent'>({ type: 'string', enum: ['temp', 'persistent'] });

export const OutputSchema = Type.Object(
  {
    url: Type.String({
      description: 'The URL of the output, which can be downloaded without a key. Supports GET and HEAD, and `Range`.',
    }),
    type: Type.String({
      description:
        '`image`, `video`, `audio`, `text`, `first_frame`, `last_frame` or `thumbnail`. More types may be added.',
    }),
    expireAt: Type.Integer({ minimum: 0, description: 'The time when `url` expires, in Unix seconds.' }),
    id: Type.String(),
    mimeType: Type.String(),
    sizeBytes: Type.Integer({ minimum: 0 }),
    width: Type.Optional(Type.Integer({ minimum: 1 })),
    height: Type.Optional(Type.Integer({ minimum: 1 })),
    durationSeconds: Type.Optional(Type.Number({ minimum: 0 })),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    storage: Tier,
    retainUntil: Type.Integer({
      minimum: 0,
      description: 'The end of the retention, in Unix seconds. 0 for persistent outputs.',
    }),
  },
  { additionalProperties: false },
);

/** The task detail. */
export const TaskSchema = Type.Object(
  {
    taskId: Type.String({ pattern: '^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$' }),
    model: Type.String({
      description:
        'The full name of the resolved model: `base` for the default route, or `base@route` for any other route.',
    }),
    route: Type.Optional(Type.String({ description: 'The route that is used. Only for models with several routes.' })),
    status: Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] }),
    created: UnixSeconds,
    started: Type.Integer({ minimum: 0, description: 'Unix seconds. 0 until handling begins.' }),
    completed: Type.Integer({ minimum: 0, description: 'Unix seconds. 0 until the task has ended.' }),
    progress: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'The progress in steps of 0.1. Only while the task is being handled, if the progress is known.',
      }),
    ),
    storage: Tier,
    keyId: Type.String({ description: 'The key that created the task.' }),
    metadata: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({ type: 'object', additionalProperties: { type: 'string' } }),
    ),
    input: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>> | null>({
        type: ['object', 'null'],
        description: 'The input as it was sent. Only with `include=input`. Null if it was erased.',
      }),
    ),
    output: Type.Optional(Type.Array(OutputSchema, { description: 'The outputs. Only if the task succeeded.' })),
    outputGone: Type.Optional(
      Type.Array(
        Type.Object(
          {
            id: Type.String(),
            type: Type.String(),
            goneAt: UnixSeconds,
            reason: Type.Unsafe<'deleted' | 'expired'>({ type: 'string', enum: ['deleted', 'expired'] }),
          },
          { additionalProperties: false },
        ),
        { description: 'The outputs that were deleted or whose retention has ended.' },
      ),
    ),
    error: Type.Optional(
      Type.Object(
        {
          code: Type.String({
            enum: [
              'TASK_FAILED',
              'TASK_TIMEOUT',
              'TASK_CANCELLED',
              'INVALID_REQUEST',
              'MODEL_UNAVAILABLE',
              'STORAGE_UNAVAILABLE',
            ],
          }),
          message: Type.String(),
          reason: Type.Optional(Type.String()),
          field: Type.Optional(
            Type.String({
              pattern: FIELD_PATTERN,
              maxLength: MAX_FIELD_LENGTH,
              description: 'The field of the input that could not be used, if it is known, for example `image_urls.2`.',
            }),
          ),
          retryable: Type.Boolean({ description: 'Whether the same request may succeed as a new task.' }),
        },
        { additionalProperties: false, description: 'The error. Only if the task failed.' },
      ),
    ),
    billing: Type.Object(
      {
        currency: Type.Literal('USD'),
        held: Usd,
        captured: Usd,
        released: Usd,
        priceFactor: Type.Optional(
          Type.String({
            pattern: '^[01](\\.[0-9]{1,6})?$',
            description:
              'The factor of the price. Only if the task is the line of a batch and its model has a `batchFactor`.',
          }),
        ),
      },
      {
        additionalProperties: false,
        description:
          'The cost of the task, in decimal USD. `held` is the amount that was held at creation. Once the task has ended, it equals `captured` plus `released`.',
      },
    ),
    callback: Type.Optional(
      Type.Object(
        {
          state: Type.String({ enum: ['waiting', 'pending', 'delivered', 'exhausted', 'stopped'] }),
          attempts: Type.Integer({ minimum: 0 }),
          nextAttempt: Type.Integer({
            minimum: 0,
            description: 'The time of the next attempt, in Unix seconds. 0 if none is due.',
          }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export type WireTask = Static<typeof TaskSchema>;

export type WireOutput = Static<typeof OutputSchema>;

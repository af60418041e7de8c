/** `POST /tasks:batch` (contract §2.7): many creates in one request, each with a key of its own. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { CreateTaskSchema } from './create-task.ts';

/** The maximum number of tasks in one request. */
export const MAX_BATCH_TASKS = 1_000;

const ItemSchema = Type.Object(
  {
    ...CreateTaskSchema.properties,
    idempotencyKey: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: '^[!-~]+$',
        description:
          'Like the header `Idempotency-Key` of `POST /v1/tasks`, with which it shares its keys. Without it, a repeated request creates another task.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const CreateTaskBatchSchema = Type.Object(
  { tasks: Type.Array(ItemSchema, { minItems: 1, maxItems: MAX_BATCH_TASKS }) },
  { additionalProperties: false },
);

/** The form of the body without that of its items, of which each is answered by itself. */
export const TaskBatchBodySchema = Type.Object(
  {
    tasks: Type.Array(Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' }), {
      minItems: 1,
      maxItems: MAX_BATCH_TASKS,
    }),
  },
  { additionalProperties: false },
);

/** The response to an item that is rejected: the body of an error of `POST /v1/tasks`. */
const ItemErrorSchema = Type.Object(
  { code: Type.Integer(), message: Type.String(), data: Type.Null(), error_code: Type.String() },
  { additionalProperties: false },
);

const ResultSchema = Type.Object(
  {
    status: Type.Integer({ description: 'The status that `POST /v1/tasks` would have returned: 200 for a task.' }),
    taskId: Type.Optional(Type.String({ pattern: '^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$' })),
    isReplay: Type.Optional(Type.Boolean({ description: 'Whether the key had created the task before.' })),
    error: Type.Optional(ItemErrorSchema),
  },
  { additionalProperties: false, description: 'A task, or an error.' },
);

/** The `data` of the response. */
export const TaskBatchResultSchema = Type.Object(
  { results: Type.Array(ResultSchema, { description: 'One for each task of the request, in their order.' }) },
  { additionalProperties: false },
);

export type WireTaskBatchResult = Static<typeof TaskBatchResultSchema>;

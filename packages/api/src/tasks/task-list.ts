/**
 * A list of tasks (contract §3): the query parameters, and the `data` of the response.
 */
import { Type } from 'typebox';
import { MAX_LISTED_IDS, MAX_PAGED_TASKS, MAX_PAGE_SIZE } from '../facts/limits.ts';
import type { TaskStatus } from '../facts/task-status.ts';
import { TASK_STATUSES } from '../facts/task-status.ts';
import { TaskSchema } from './task.ts';
import type { Static } from 'typebox';

/** Ten digits: up to the year 2286. A time in milliseconds has more, and is rejected for that. */
const MAX_UNIX_SECONDS = 9_999_999_999;

export const TaskListQuerySchema = Type.Object(
  {
    page: Type.Optional(
      Type.Integer({
        minimum: 1,
        // Past the last page of any size: larger values are clamped to this, and rejected like it.
        maximum: MAX_PAGED_TASKS + 1,
        default: 1,
        'x-clamped': true,
        description: `The page number, from 1. Pages reach the newest ${MAX_PAGED_TASKS} tasks; \`cursor\` reaches all.`,
      }),
    ),
    size: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PAGE_SIZE,
        default: 10,
        'x-clamped': true,
        description: 'The number of tasks per page.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The `nextCursor` of the previous page. Cannot be combined with a `page` above 1.',
      }),
    ),
    status: Type.Optional(
      Type.Array(Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] }), {
        minItems: 1,
        maxItems: TASK_STATUSES.length,
        description: 'Only tasks with any of these statuses. Repeat the parameter or separate values by commas.',
      }),
    ),
    model: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 400,
        description: 'Only tasks of this model, by its full name as in the task: `base`, or `base@route`.',
      }),
    ),
    keyId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'Only tasks that this key created.' }),
    ),
    ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: MAX_LISTED_IDS,
        description:
          'Only tasks with these ids. Ids that are not of this account are ignored. Repeat the parameter or separate values by commas.',
      }),
    ),
    created_after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_UNIX_SECONDS,
        description: 'Only tasks created after this time, in Unix seconds.',
      }),
    ),
    created_before: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_UNIX_SECONDS,
        description: 'Only tasks created before this time, in Unix seconds.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const TaskListSchema = Type.Object(
  {
    page: Type.Integer({ minimum: 1, maximum: MAX_PAGED_TASKS, description: 'The page number.' }),
    size: Type.Integer({ minimum: 1, maximum: MAX_PAGE_SIZE, description: 'The maximum number of tasks per page.' }),
    total: Type.Integer({
      minimum: 0,
      maximum: MAX_PAGED_TASKS,
      description: `The number of matching tasks on all pages, exact up to ${MAX_PAGED_TASKS}.`,
    }),
    totalIsCapped: Type.Optional(Type.Literal(true, { description: 'Present if there are more than `total`.' })),
    nextCursor: Type.Optional(
      Type.String({ description: 'Pass it as `cursor` to get the next page. Absent on the last page.' }),
    ),
    tasks: Type.Array(TaskSchema, {
      maxItems: MAX_PAGE_SIZE,
      description: 'The tasks, newest first, as returned by `GET /v1/tasks/{taskId}`.',
    }),
  },
  { additionalProperties: false },
);

export type WireTaskList = Static<typeof TaskListSchema>;

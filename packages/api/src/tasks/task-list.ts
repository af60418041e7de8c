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
        description: `From 1; less is taken as 1. Pages reach the newest ${MAX_PAGED_TASKS} tasks, \`cursor\` reaches all.`,
      }),
    ),
    size: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PAGE_SIZE,
        default: 10,
        'x-clamped': true,
        description: 'Tasks on a page; less or more than it may be is taken as the least or the most.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The `nextCursor` of an answer: continues behind its last task. Not together with a later `page`.',
      }),
    ),
    status: Type.Optional(
      Type.Array(Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] }), {
        minItems: 1,
        maxItems: TASK_STATUSES.length,
        description: 'Tasks in any of these; repeated, or as a comma list.',
      }),
    ),
    model: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 400,
        description: 'The full name as the detail shows it: `base`, or `base@route`.',
      }),
    ),
    keyId: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Tasks that this key created.' })),
    ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: MAX_LISTED_IDS,
        description: 'These tasks, as far as they are yours; repeated, or as a comma list.',
      }),
    ),
    created_after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_UNIX_SECONDS,
        description: 'Unix seconds: tasks whose `created` is greater.',
      }),
    ),
    created_before: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_UNIX_SECONDS,
        description: 'Unix seconds: tasks whose `created` is less.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const TaskListSchema = Type.Object(
  {
    page: Type.Integer({ minimum: 1, maximum: MAX_PAGED_TASKS, description: 'The page that was read.' }),
    size: Type.Integer({ minimum: 1, maximum: MAX_PAGE_SIZE, description: 'How many tasks a page can have.' }),
    total: Type.Integer({
      minimum: 0,
      maximum: MAX_PAGED_TASKS,
      description: `How many tasks match, wherever the page begins; exact up to ${MAX_PAGED_TASKS}.`,
    }),
    totalIsCapped: Type.Optional(Type.Literal(true, { description: 'There are more than `total`.' })),
    nextCursor: Type.Optional(Type.String({ description: 'For `cursor`; absent behind the last task.' })),
    tasks: Type.Array(TaskSchema, {
      maxItems: MAX_PAGE_SIZE,
      description: 'Newest first; the same objects as the detail.',
    }),
  },
  { additionalProperties: false },
);

export type WireTaskList = Static<typeof TaskListSchema>;

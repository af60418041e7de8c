/**
 * `GET /v1/tasks`: the account's tasks by filter, by page and by cursor (contract §3).
 */
import { compileViolation } from '../../schema/schema-validation.ts';
import { Type } from 'typebox';
import { MAX_PAGED_TASKS } from '@darkroom/api/facts/limits';
import { createTaskLister } from '../../tasks/listing/list.ts';
import { findUnstorableText } from '../../tasks/record/storable-text.ts';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import { rangeProblem } from '@darkroom/api/tasks/query-range';
import { TaskListQuerySchema, TaskListSchema } from '@darkroom/api/tasks/task-list';
import type { WireTaskList } from '@darkroom/api/tasks/task-list';
import { presentTask } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { decodeCursor, encodeCursor } from '../app/cursor.ts';
import { invalidRequest, violated } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

/** The pairs of a filter have the same bounds as those of a task. */
const checkMetadata = compileViolation(
  Type.Object({ metadata: CreateTaskSchema.properties.metadata }),
  'invalid request',
);

export function taskListRoutes(http: HttpContext): readonly Route[] {
  const lister = createTaskLister(http.database, () => http.now());
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/tasks',
      operationId: 'listTasks',
      tag: 'Tasks',
      summary: 'List tasks',
      description: `Returns the newest tasks first. Filters can be combined: a task must match all of them. \`metadata.<key>=<value>\` filters by metadata. \`page\` reaches the newest ${MAX_PAGED_TASKS} matching tasks. \`cursor\` reaches all of them, and neither skips nor repeats a task while others are created.`,
      access: 'tasks:read',
      query: TaskListQuerySchema,
      queryPrefix: 'metadata.',
      isExpensive: true,
      response: { kind: 'data', schema: TaskListSchema },
      async handle({ caller, query, prefixed: metadata }): Promise<WireTaskList> {
        const { page = 1, size = 10, cursor, model, keyId, ids } = query;
        const problem = checkMetadata({ metadata }) ?? findUnstorableText({ model, keyId, ids, metadata });
        if (problem !== undefined) throw violated(problem);
        const disorder = rangeProblem(['created_after', query.created_after], ['created_before', query.created_before]);
        if (disorder !== undefined) throw invalidRequest(`invalid request: ${disorder}`);
        if (cursor !== undefined && page > 1) {
          throw invalidRequest('invalid request: page: cannot be combined with cursor; send one of them');
        }
        if (page * size > MAX_PAGED_TASKS) {
          throw invalidRequest(
            `invalid request: page: beyond the first ${MAX_PAGED_TASKS} tasks; continue with cursor, the nextCursor of the previous page`,
          );
        }
        const list = await lister.list({
          accountId: caller.accountId,
          filter: {
            ...(query.status === undefined ? {} : { statuses: query.status }),
            ...(model === undefined ? {} : { model }),
            ...(keyId === undefined ? {} : { keyId }),
            ...(ids === undefined ? {} : { ids }),
            ...(query.created_after === undefined ? {} : { createdAfter: query.created_after }),
            ...(query.created_before === undefined ? {} : { createdBefore: query.created_before }),
            metadata,
          },
          ...(cursor === undefined ? {} : { after: decodeCursor(cursor) }),
          offset: (page - 1) * size,
          size,
        });
        const now = http.now();
        return {
          page,
          size,
          total: list.total,
          ...(list.isCapped ? { totalIsCapped: true as const } : {}),
          ...(list.next === undefined ? {} : { nextCursor: encodeCursor(list.next) }),
          tasks: list.tasks.map((task) => presentTask(task, http.urlSigner, now)),
        };
      },
    }),
  ];
}

/**
 * `GET /v1/tasks/{taskId}` (spec §4.2, contract §3, §4): at once, or when the task has changed.
 */
import { Type } from 'typebox';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { readTaskInput } from '../../tasks/record/input-objects.ts';
import { presentInput } from '../../presenters/task.ts';
import { TaskSchema } from '@darkroom/api/tasks/task';
import type { HttpContext } from '../app/context.ts';
import { DEPRECATION_HEADERS } from '../middleware/response-headers.ts';
import { preferredWait, waitForStatusChange } from '../streams/long-poll.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { respondWithTask, taskIdOf } from './task-response.ts';

const DetailQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Unsafe<'input'>({
        type: 'string',
        enum: ['input'],
        description: '`input` also returns the input as it was sent.',
      }),
    ),
  },
  { additionalProperties: false },
);

export function taskDetailRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/tasks/{taskId}',
      operationId: 'getTask',
      tag: 'Tasks',
      summary: 'Get a task',
      description:
        'Returns immediately. With `Prefer: wait=N`, returns when the status has changed or after N seconds, whichever comes first.',
      access: 'tasks:read',
      params: { taskId: 'The task id, as returned by `POST /v1/tasks`.' },
      query: DetailQuery,
      headers: {
        Prefer:
          '`wait=N` waits up to N seconds, at most 30, for the status to change. For a task that has ended, the response is immediate.',
      },
      response: { kind: 'data', schema: TaskSchema },
      responseHeaders: {
        ...DEPRECATION_HEADERS,
        'Preference-Applied':
          '`wait=N` with the accepted number of seconds, if the request has that preference and it was applied.',
        'Retry-After': 'The number of seconds to wait before the next poll. Absent once the task has ended.',
      },
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      async handle({ ctx, caller, params, query }) {
        const taskId = taskIdOf(params);
        const seconds = ctx.method === 'HEAD' ? undefined : preferredWait(ctx.get('Prefer'));
        let task = await http.taskReader.read(taskId, caller.accountId);
        // Where as many wait as may, this one is answered at once: a preference may be ignored (RFC 7240 §2).
        const lease = seconds === undefined ? 'none' : http.waitingResponses.tryTake(caller.accountId);
        if (seconds !== undefined && typeof lease !== 'string') {
          ctx.set('Preference-Applied', `wait=${seconds}`);
          if (isTerminal(task.status)) lease.release();
          else {
            const wait = waitForStatusChange(http, caller, taskId, task.status, seconds, ctx.res);
            await wait.finally(() => lease.release());
            if (ctx.res.destroyed) return undefined;
            // A client that waits when the process ends sends its next request to another one.
            if (!http.isReady()) ctx.set('Connection', 'close');
            task = await http.taskReader.read(taskId, caller.accountId);
          }
        }
        const detail = await respondWithTask(ctx, http, task);
        if (query.include !== 'input') return detail;
        const input = await readTaskInput(http.database, taskId, caller.accountId);
        return { ...detail, input: input === null ? null : presentInput(input, http.urlSigner) };
      },
    }),
  ];
}

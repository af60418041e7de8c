/**
 * A task's callback (contract §4, §6): its attempts, and delivering it once more.
 */
import { readCallback } from '../../callbacks/attempts.ts';
import { readTask } from '../../tasks/record/read.ts';
import { redeliverCallback } from '../../tasks/lifecycle/redeliver.ts';
import { CallbackAttemptsSchema } from '@darkroom/api/tasks/callback';
import { presentCallback } from '../../presenters/callback.ts';
import { TaskSchema } from '@darkroom/api/tasks/task';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { respondWithTask, taskIdOf } from './task-response.ts';

export function taskCallbackRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/tasks/{taskId}/callback/attempts',
      operationId: 'listCallbackAttempts',
      tag: 'Tasks',
      summary: 'List callback attempts of a task',
      access: 'tasks:read',
      params: { taskId: 'The task id, as returned by `POST /v1/tasks`.' },
      response: { kind: 'data', schema: CallbackAttemptsSchema },
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      async handle({ caller, params }) {
        const task = await readTask(http.database, taskIdOf(params), caller.accountId);
        return presentCallback(task.callback === null ? undefined : await readCallback(http.database, task.id));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/tasks/{taskId}/callback/redeliver',
      operationId: 'redeliverCallback',
      tag: 'Tasks',
      summary: 'Redeliver the callback of a task',
      description:
        'Restarts the schedule of attempts and returns the task. Has no effect while a delivery is in progress. Returns 400 if the task has not ended, was created without a callback, or its callback URL was erased.',
      access: 'tasks:write',
      params: { taskId: 'The task id, as returned by `POST /v1/tasks`.' },
      response: { kind: 'data', schema: TaskSchema },
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      async handle({ ctx, caller, params }) {
        const taskId = taskIdOf(params);
        const { accountId } = caller;
        if (await redeliverCallback(http.database, accountId, taskId)) http.wakeLauncher();
        return respondWithTask(ctx, http, await readTask(http.database, taskId, accountId));
      },
    }),
  ];
}

/**
 * `/v1/tasks`: creating and cancelling (spec §4.1, §4.2; contract §2-§4).
 */
import { cancelTask } from '../../tasks/lifecycle/cancel.ts';
import { eraseTask } from '../../tasks/lifecycle/erase.ts';
import { readTask } from '../../tasks/record/read.ts';
import { CreateTaskSchema, CreatedTaskSchema } from '@darkroom/api/tasks/create-task';
import { TaskSchema } from '@darkroom/api/tasks/task';
import type { HttpContext } from '../app/context.ts';
import { DEPRECATION_HEADERS, setDeprecationHeaders } from '../middleware/response-headers.ts';
import { parseIdempotencyKey } from '../middleware/repeated-requests.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { createBudget } from '../middleware/limits.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { respondWithTask, taskIdOf } from './task-response.ts';

export function taskRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/tasks',
      operationId: 'createTask',
      tag: 'Tasks',
      summary: 'Create a task',
      description:
        'Returns immediately; the generation runs afterwards. The worst-case cost of the task is held until the task ends.',
      access: 'tasks:write',
      budget: 'deferred',
      headers: {
        'Idempotency-Key':
          '1-255 visible ASCII characters. Repeating a request with the same key and the same body never creates a second task. Keys do not expire.',
      },
      body: {
        kind: 'json',
        schema: CreateTaskSchema,
        maxBytes: CREATE_BODY_BYTES,
        isCheckedLater: true,
        needsFacts: true,
      },
      response: { kind: 'data', schema: CreatedTaskSchema },
      responseHeaders: DEPRECATION_HEADERS,
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE', 'IDEMPOTENCY_KEY_MISMATCH'],
      async handle({ ctx, caller, body, large }) {
        const key = parseIdempotencyKey(ctx.req.headersDistinct['idempotency-key']);
        const budget = createBudget(caller);
        const { taskId, isReplay, claimed } = await http.taskCreator.create(
          caller,
          body,
          key,
          {
            take: () => http.rateLimiter.take(budget),
            giveBack: () => http.rateLimiter.giveBack(budget),
          },
          large,
        );
        const { model } = body;
        if (typeof model === 'string') setDeprecationHeaders(ctx, http.catalogue.find(model));
        if (isReplay) ctx.set('Idempotent-Replay', 'true');
        else {
          ctx.state.createdTaskId = taskId;
          http.wakeLauncher(claimed);
        }
        return { taskId };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/tasks/{taskId}/cancel',
      operationId: 'cancelTask',
      tag: 'Tasks',
      summary: 'Cancel a task',
      description:
        'Returns the current state of the task immediately. A task that is `queued` or `handling` ends as `fail` with `TASK_CANCELLED`. From `archiving` on, this has no effect.',
      access: 'tasks:write',
      params: { taskId: 'The task id, as returned by `POST /v1/tasks`.' },
      response: { kind: 'data', schema: TaskSchema },
      responseHeaders: DEPRECATION_HEADERS,
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      async handle({ ctx, caller, params }) {
        const taskId = taskIdOf(params);
        const { accountId } = caller;
        const isRequested = await cancelTask(
          http.accountDatabase(accountId),
          accountId,
          taskId,
          http.config.outputRetentionDays,
          http.metrics.tasks.settled,
        );
        if (isRequested) http.wakeLauncher();
        return respondWithTask(ctx, http, await readTask(http.database, taskId, accountId));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/tasks/{taskId}/erase',
      operationId: 'eraseTask',
      tag: 'Tasks',
      summary: 'Erase the input and outputs of a task',
      description:
        'The task must have ended. Permanently deletes the input, the metadata and the outputs. The id, model, times, costs and the `Idempotency-Key` remain, so that replays still work.',
      access: 'tasks:write',
      params: { taskId: 'The task id, as returned by `POST /v1/tasks`.' },
      response: { kind: 'data', schema: TaskSchema },
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      async handle({ ctx, caller, params }) {
        const taskId = taskIdOf(params);
        await eraseTask(http.accountDatabase(caller.accountId), caller.accountId, taskId, http.now());
        return respondWithTask(ctx, http, await readTask(http.database, taskId, caller.accountId));
      },
    }),
  ];
}

/**
 * `/v1/tasks`: creating, reading and cancelling (spec §4.1, §4.2; contract §2-§4).
 */
import { cancelTask } from '../../tasks/cancel.ts';
import { readTask } from '../../tasks/read.ts';
import { CreateTaskSchema, CreatedTaskSchema } from '../../wire/create-task.ts';
import { TaskSchema } from '../../wire/task.ts';
import type { HttpContext } from '../context.ts';
import { parseIdempotencyKey } from '../idempotency-key.ts';
import { CREATE_BODY_BYTES } from '../json-body.ts';
import { createBudget } from '../register-routes.ts';
import { defineRoute } from '../route.ts';
import type { Route } from '../route.ts';
import { answerDetail, taskIdOf } from '../task-answer.ts';

export function taskRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/tasks',
      operationId: 'createTask',
      tag: 'Tasks',
      summary: 'Create a task',
      description: 'Answers at once; the generation runs afterwards. Its worst-case cost is held until it is over.',
      access: 'tasks:write',
      budget: 'deferred',
      headers: {
        'Idempotency-Key':
          '1-255 visible ASCII characters. The same key with the same body never creates a second task, for ever.',
      },
      body: { kind: 'json', schema: CreateTaskSchema, maxBytes: CREATE_BODY_BYTES, isCheckedLater: true },
      answer: { kind: 'data', schema: CreatedTaskSchema },
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE', 'IDEMPOTENCY_KEY_MISMATCH'],
      async handle({ ctx, caller, body }) {
        const key = parseIdempotencyKey(ctx.req.headersDistinct['idempotency-key']);
        const budget = createBudget(caller);
        const { taskId, isReplay } = await http.taskCreator.create(caller, body as Record<string, unknown>, key, {
          take: () => http.rateLimiter.take(budget),
          giveBack: () => http.rateLimiter.giveBack(budget),
        });
        if (isReplay) ctx.set('Idempotent-Replay', 'true');
        else http.wakeLauncher();
        return { taskId };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/tasks/{taskId}',
      operationId: 'getTask',
      tag: 'Tasks',
      summary: 'Read a task',
      access: 'tasks:read',
      params: { taskId: 'The id that creating the task returned.' },
      answer: { kind: 'data', schema: TaskSchema },
      errors: ['NOT_FOUND'],
      async handle({ ctx, caller, params }) {
        return answerDetail(ctx, http, await readTask(http.database, taskIdOf(params), caller.accountId));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/tasks/{taskId}/cancel',
      operationId: 'cancelTask',
      tag: 'Tasks',
      summary: 'Cancel a task',
      description:
        'Answers at once with the detail as it is. A task that is queued or handling ends as `fail` with `TASK_CANCELLED`; from archiving on nothing changes.',
      access: 'tasks:write',
      params: { taskId: 'The id that creating the task returned.' },
      answer: { kind: 'data', schema: TaskSchema },
      errors: ['NOT_FOUND'],
      async handle({ ctx, caller, params }) {
        const taskId = taskIdOf(params);
        const { accountId } = caller;
        const isRequested = await cancelTask(http.database, accountId, taskId, http.config.outputRetentionDays);
        if (isRequested) http.wakeLauncher();
        return answerDetail(ctx, http, await readTask(http.database, taskId, accountId));
      },
    }),
  ];
}

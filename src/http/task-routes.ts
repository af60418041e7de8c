/**
 * `/v1/tasks`: each route parses, calls one use case, presents.
 */
import type Router from '@koa/router';
import { cancelTask } from '../tasks/cancel.ts';
import { TaskNotFoundError, readTask } from '../tasks/read.ts';
import type { TaskDetail } from '../tasks/read.ts';
import { isTerminal } from '../domain/task-status.ts';
import { isTaskId } from '../domain/workflow-ids.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { success } from '../wire/envelope.ts';
import { presentTask } from '../wire/task.ts';
import type { HttpContext } from './context.ts';
import { parseIdempotencyKey } from './idempotency-key.ts';
import { CREATE_BODY_BYTES, readJsonObject } from './json-body.ts';
import { authenticated } from './middleware.ts';
import type { RequestState } from './middleware.ts';

/** What a poller does well to wait: the embedded models take about this long. */
const POLL_AGAIN_SECONDS = '1';

export function registerTaskRoutes(router: Router<RequestState>, http: HttpContext): void {
  router.post('/v1/tasks', authenticated(http, 'tasks:write'), async (ctx) => {
    const idempotencyKey = parseIdempotencyKey(ctx.req.headersDistinct['idempotency-key']);
    const body = await readJsonObject(ctx.req, CREATE_BODY_BYTES);
    const { taskId, isReplay } = await http.taskCreator.create(ctx.state.caller, body, idempotencyKey);
    if (isReplay) ctx.set('Idempotent-Replay', 'true');
    else http.wakeLauncher();
    ctx.set('Cache-Control', 'no-store');
    ctx.body = success({ taskId });
  });

  router.get('/v1/tasks/:id', authenticated(http, 'tasks:read'), async (ctx) => {
    const task = await readTask(http.database, taskIdOf(ctx.params), ctx.state.caller.accountId);
    answerDetail(ctx, http, task);
  });

  router.post('/v1/tasks/:id/cancel', authenticated(http, 'tasks:write'), async (ctx) => {
    const taskId = taskIdOf(ctx.params);
    const { accountId } = ctx.state.caller;
    const isRequested = await cancelTask(http.database, accountId, taskId, http.config.outputRetentionDays);
    if (isRequested) http.wakeLauncher();
    answerDetail(ctx, http, await readTask(http.database, taskId, accountId));
  });
}

/** @throws {TaskNotFoundError} a text that cannot be a task's id names no task. */
function taskIdOf(params: Readonly<Record<string, string | undefined>>): TaskId {
  const { id = '' } = params;
  if (!isTaskId(id)) throw new TaskNotFoundError();
  return id;
}

interface Answer {
  body: unknown;
  set(name: string, value: string): void;
}

function answerDetail(ctx: Answer, http: HttpContext, task: TaskDetail): void {
  ctx.set('Cache-Control', 'private, no-cache');
  if (!isTerminal(task.status)) {
    ctx.set('Retry-After', POLL_AGAIN_SECONDS);
    http.considerRepair(task);
  }
  ctx.body = success(presentTask(task, http.urlSigner));
}

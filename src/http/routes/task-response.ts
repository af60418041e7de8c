/**
 * What every response with a task's detail has in common: when to poll again, and the repair of a task that no
 * workflow works on.
 */
import type { ParameterizedContext } from 'koa';
import { secondsUntilNextPoll } from '../../domain/waits.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { TaskNotFoundError } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { presentTask } from '../../presenters/task.ts';
import type { WireTask } from '@darkroom/api/tasks/task';
import type { HttpContext, RequestState } from '../app/context.ts';
import { setDeprecationHeaders } from '../middleware/response-headers.ts';

/** @throws {TaskNotFoundError} the string cannot be a task's id. */
export function taskIdOf({ taskId = '' }: Readonly<Record<string, string>>): TaskId {
  if (!isTaskId(taskId)) throw new TaskNotFoundError();
  return taskId;
}

/** Presents a task, with `Retry-After` where it is not over, and the deprecation of its model (contract §3, §8). */
export async function respondWithTask(
  ctx: ParameterizedContext<RequestState>,
  http: HttpContext,
  task: TaskDetail,
): Promise<WireTask> {
  ctx.set('Cache-Control', 'private, no-cache');
  setDeprecationHeaders(ctx, http.catalogue.find(task.model));
  if (!isTerminal(task.status)) {
    const { typicalSeconds } = await http.definitions.read(task.definitionHash);
    ctx.set('Retry-After', String(secondsUntilNextPoll(typicalSeconds, task.ageSeconds)));
    http.considerRepair(task);
  }
  return presentTask(task, http.urlSigner, http.now());
}

/**
 * The tools for tasks: start one and wait for it, read, cancel, list.
 */
import { randomUUID } from 'node:crypto';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { CallToolResult, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { isOutcomeUnknown } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import {
  ANSWER_WITHIN_MS,
  LONGEST_WAIT_SECONDS,
  mediaField,
  modelField,
  taskIdField,
  taskInputField,
  waitField,
} from './fields.ts';
import type { MediaChoice } from './fields.ts';
import { taskAnswer } from './task-answer.ts';
import { answered, isServiceError, toolError, runTool, messageOf } from './tool-result.ts';
import { waitForTask } from './wait-for-task.ts';
import { statusOf } from './task-status-text.ts';
import type { WireTask } from '@darkroom/api/tasks/task';
import type { WireTaskList } from '@darkroom/api/tasks/task-list';

/** A tool call, and when it began by `performance.now()`. */
type Call = RequestHandlerExtra<ServerRequest, ServerNotification> & { readonly begunAt: number };

const GENERATE_WAIT_SECONDS = 30;

export interface TaskToolsOptions {
  readonly api: ApiClient;
  readonly mayWait: () => boolean;
  /** Whether the client supports `resource_link`. */
  readonly takesLinks: () => boolean;
}

export function addTaskTools(server: McpServer, { api, mayWait, takesLinks }: TaskToolsOptions): void {
  const answer = (task: WireTask, media: MediaChoice, { signal, begunAt }: Call): Promise<CallToolResult> => {
    const late = AbortSignal.timeout(Math.max(0, Math.floor(begunAt + ANSWER_WITHIN_MS - performance.now())));
    return taskAnswer(task, { api, signal, late, mayWait, media, takesLinks: takesLinks(), remark: remarkOn(task) });
  };

  /** Waits as long as the caller requested, if the client waits as long; clients that request progress receive it. */
  const wait = (
    taskId: string,
    wished: number,
    { signal, _meta, sendNotification, begunAt }: Call,
  ): Promise<WireTask> => {
    const passedSeconds = (performance.now() - begunAt) / 1000;
    const seconds = Math.max(0, Math.min(wished, Math.ceil(LONGEST_WAIT_SECONDS - passedSeconds)));
    return waitForTask(api, taskId, {
      seconds,
      signal,
      mayWait,
      async onPoll(task, progress) {
        if (_meta?.progressToken === undefined) return;
        const { progressToken } = _meta;
        const params = { progressToken, progress, total: seconds, message: statusOf(task) };
        await sendNotification({ method: 'notifications/progress', params });
      },
    });
  };

  server.registerTool(
    'generate',
    {
      title: 'Generate',
      description:
        'Generates an image, a video or audio with a model, and costs money. Waits up to wait_seconds: if the task has ended by then, the result has its outputs as links, and its images as small copies (`media`); if not, it has the taskId for get_task. The links work without a key for a limited time (`expireAt`). If you are not sure of an input, validate it with estimate first. Not for text models: use text.',
      inputSchema: z.strictObject({
        model: modelField,
        input: taskInputField,
        wait_seconds: waitField(GENERATE_WAIT_SECONDS),
        media: mediaField,
        idempotency_key: z
          .string()
          .regex(/^[!-~]{1,255}$/)
          .optional()
          .describe(
            'Makes retries safe: the same key with the same model and input never starts a second task, and returns the first. Use a new key for each new request; reuse one only to retry a call whose outcome is unknown.',
          ),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    },
    ({ model, input, media, wait_seconds: seconds, idempotency_key: key = `mcp-${randomUUID()}` }, extra) =>
      runTool(async () => {
        const call = { ...extra, begunAt: performance.now() };
        const taskId = await create(api, { model, input }, key, call.signal);
        if (typeof taskId !== 'string') return taskId;
        try {
          const task = await wait(taskId, seconds, call);
          const isFailure = task.status === 'fail';
          return {
            ...(await answer(task, media, call)),
            ...(isFailure ? { isError: true } : {}),
          };
        } catch (error) {
          if (!isServiceError(error)) throw error;
          return toolError(
            `The task ${taskId} was created and continues, but reading it failed: ${messageOf(error)}\nDo not generate again; call get_task with this taskId.`,
          );
        }
      }),
  );

  server.registerTool(
    'get_task',
    {
      title: 'Get a task',
      description:
        'Returns the status of a task, and its outputs once its `status` is `success`, as generate does. With wait_seconds it waits for the task to end. A task with the status `fail` has the reason in `error`.',
      inputSchema: z.strictObject({ task_id: taskIdField, wait_seconds: waitField(0), media: mediaField }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ task_id: taskId, media, wait_seconds: seconds }, extra) =>
      runTool(async () => {
        const call = { ...extra, begunAt: performance.now() };
        return answer(await wait(taskId, seconds, call), media, call);
      }),
  );

  server.registerTool(
    'cancel_task',
    {
      title: 'Cancel a task',
      description:
        'Requests the cancellation of a task, and returns at once with the task as it is. A task that is `queued` or `handling` then ends as `fail` with TASK_CANCELLED; there is no effect on one that is `archiving` or has ended. It cannot be undone.',
      inputSchema: z.strictObject({ task_id: taskIdField }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    ({ task_id: taskId }, { signal }) =>
      runTool(async () => answered(await api.call('POST', `/tasks/${encodeURIComponent(taskId)}/cancel`, { signal }))),
  );

  server.registerTool(
    'list_tasks',
    {
      title: 'List tasks',
      description:
        'Lists tasks of this account, newest first: to find recent outputs, or a task whose taskId was lost. Filters can be combined.',
      inputSchema: z.strictObject({
        status: z
          .array(z.enum(['queued', 'handling', 'archiving', 'success', 'fail']))
          .min(1)
          .max(5)
          .optional()
          .describe('Only tasks with one of these statuses.'),
        model: z.string().min(1).max(400).optional().describe('Only tasks of this model, by the `model` of a task.'),
        size: z.int().min(1).max(50).default(10).describe('How many tasks to return at most.'),
        cursor: z
          .string()
          .min(1)
          .max(200)
          .optional()
          .describe('The `nextCursor` of the previous page, to continue after its last task.'),
      }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    (query, { signal }) =>
      runTool(async () => answered(await api.call<WireTaskList>('GET', '/tasks', { query, signal }))),
  );
}

/**
 * @returns the new task's id, or a message if it is unknown whether the task was created.
 * @throws {ApiError} rejected.
 */
async function create(
  api: ApiClient,
  body: { readonly model: string; readonly input: Readonly<Record<string, unknown>> },
  key: string,
  signal: AbortSignal,
): Promise<string | CallToolResult> {
  try {
    const headers = { 'Idempotency-Key': key };
    return (await api.call<{ readonly taskId: string }>('POST', '/tasks', { body, headers, signal })).taskId;
  } catch (error) {
    if (!isOutcomeUnknown(error)) throw error;
    return toolError(
      `${messageOf(error)}\nIt is unknown whether the task was created. To retry safely, call generate with the same model and input and idempotency_key "${key}".`,
    );
  }
}

function remarkOn({ status, taskId, error }: WireTask): string | undefined {
  if (status === 'success') return undefined;
  if (status === 'fail') return error === undefined ? 'The task failed.' : `${error.code}: ${error.message}`;
  return `The task has not ended yet (${status}). Call get_task with task_id "${taskId}" to continue to wait.`;
}

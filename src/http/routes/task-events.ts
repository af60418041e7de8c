/**
 * What has happened to a task (contract §4, §6): its timeline, as a list or as a live stream that ends with the task,
 * and the attempts of its callback, which can be delivered once more.
 */
import { CallbackAttemptsSchema } from '@darkroom/api/tasks/callback';
import { EventsSchema } from '@darkroom/api/tasks/event';
import { TaskSchema } from '@darkroom/api/tasks/task';
import type { ParameterizedContext } from 'koa';
import { Type } from 'typebox';
import type { Caller } from '../../accounts/authenticate.ts';
import { readCallback } from '../../callbacks/attempts.ts';
import type { ServerSentEvent } from '../../domain/server-sent-event.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { presentCallback } from '../../presenters/callback.ts';
import { presentEvent } from '../../presenters/task.ts';
import { redeliverCallback } from '../../tasks/lifecycle/callback.ts';
import { readTask } from '../../tasks/record/read.ts';
import { MAX_EVENTS_PER_PAGE } from '@darkroom/api/facts/limits';
import { readTimeline } from '../../tasks/record/timeline.ts';
import type { TaskEvent, TimelinePart } from '../../tasks/record/timeline.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { holdShareUntilClosed } from '../middleware/limits.ts';
import { wantsEventStream } from '../streams/event-stream.ts';
import type { EventStream } from '../streams/event-stream.ts';
import { respondWithTask, taskIdOf } from './task-response.ts';

const EventsQuery = Type.Object(
  {
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        'x-clamped': true,
        description: 'Returns only events after this `seq`.',
      }),
    ),
  },
  { additionalProperties: false },
);

export function taskEventRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/tasks/{taskId}/events',
      operationId: 'getTaskEvents',
      tag: 'Tasks',
      summary: 'List or stream the events of a task',
      description: `Returns at most ${MAX_EVENTS_PER_PAGE} events; use \`after\` to get the next ones. With \`Accept: text/event-stream\`, streams all events after \`Last-Event-ID\` (or \`after\`) and then each new event as it happens, until \`settled\` has been sent.`,
      access: 'tasks:read',
      params: { taskId: 'The task id, as returned by `POST /v1/tasks`.' },
      query: EventsQuery,
      headers: {
        Accept: '`text/event-stream` for the live stream, otherwise JSON.',
        'Last-Event-ID': 'The `seq` of the last event that was received from a previous stream.',
      },
      response: { kind: 'data', schema: EventsSchema },
      otherResponses: {
        200: {
          description: 'The live stream: `id` is the `seq`, `event` is the type and `data` is the event as JSON.',
          mimeTypes: ['text/event-stream'],
        },
        204: {
          description: 'The task has ended and has no events after `Last-Event-ID`. Clients stop reconnecting.',
        },
      },
      errors: ['NOT_FOUND', 'TASK_PRUNED'],
      async handle({ ctx, caller, params, query }) {
        const taskId = taskIdOf(params);
        const isStream = wantsEventStream(ctx);
        const after = (isStream ? lastEventId(ctx.get('Last-Event-ID')) : undefined) ?? query.after ?? 0;
        const part = await readTimeline(http.database, taskId, caller.accountId, after);
        ctx.vary('Accept');
        if (!isStream) return { events: part.events.map(presentEvent) };
        if (isTerminal(part.status) && part.events.length === 0) {
          ctx.status = 204;
          ctx.set('Cache-Control', 'no-store');
          return undefined;
        }
        await holdShareUntilClosed(http.waitingResponses, caller.accountId, ctx.res);
        stream(http, ctx, caller, taskId, part);
        return undefined;
      },
    }),
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

/** @returns undefined for a string that is not a `seq`: such a header is ignored. */
function lastEventId(header: string): number | undefined {
  return /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}

/** Sends the existing events and leaves the rest to the feed. */
function stream(
  http: HttpContext,
  ctx: ParameterizedContext<RequestState>,
  caller: Caller,
  taskId: TaskId,
  part: TimelinePart,
): void {
  let unsubscribe: (() => void) | undefined;
  const events = http.eventStreams.open(ctx, () => unsubscribe?.());
  if (ctx.method === 'HEAD') {
    events.end();
    return;
  }
  if (part.events.length > 0) events.send(part.events.map(sse));
  // If a completed task has more events than this, the client requests them with its next Last-Event-ID.
  if (isTerminal(part.status)) {
    events.end();
    return;
  }
  // A client that names an event that does not exist yet still gets the next events.
  const seq = part.events.at(-1)?.seq ?? part.lastSeq;
  if (events.isOpen()) unsubscribe = follow(http, caller, taskId, seq, events);
}

/** Ends silently where the caller loses access: clients of such streams reconnect, and get the reason then. */
function follow(http: HttpContext, caller: Caller, taskId: TaskId, after: number, events: EventStream): () => void {
  const unregister = http.openResponses.register(caller, () => events.end());
  const unsubscribe = http.feed.subscribe(taskId, after, {
    onEvent(event) {
      events.send([sse(event)]);
      if (event.type === 'settled') events.end();
    },
    onEnd: () => events.end(true),
  });
  return () => {
    unregister();
    unsubscribe();
  };
}

function sse(event: TaskEvent): ServerSentEvent {
  return { id: event.seq, event: event.type, data: presentEvent(event) };
}

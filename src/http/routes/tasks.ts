/**
 * `/v1/tasks`: creating tasks, one or up to a thousand in one request and one transaction, estimating what that would
 * cost, cancelling and erasing (spec §4.1, §4.2; contract §2-§4).
 */
import { violation } from '@darkroom/api/facts/violation';
import {
  CreateTaskBatchSchema,
  MAX_BATCH_TASKS,
  TaskBatchBodySchema,
  TaskBatchResultSchema,
} from '@darkroom/api/tasks/create-batch';
import type { WireTaskBatchResult } from '@darkroom/api/tasks/create-batch';
import { CreateTaskSchema, CreatedTaskSchema } from '@darkroom/api/tasks/create-task';
import { failure } from '@darkroom/api/tasks/envelope';
import { EstimateSchema } from '@darkroom/api/tasks/estimate';
import { TaskSchema } from '@darkroom/api/tasks/task';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { presentEstimate } from '../../presenters/task.ts';
import { compileParse, compileViolations } from '../../schema/schema-validation.ts';
import { isAcceptance } from '../../tasks/create/accept-many.ts';
import type { ManyOutcome } from '../../tasks/create/accept-many.ts';
import type { CreateItem } from '../../tasks/create/create-many.ts';
import { estimateTask } from '../../tasks/create/estimate.ts';
import { cancelTask } from '../../tasks/lifecycle/cancel.ts';
import { eraseTask } from '../../tasks/lifecycle/erase.ts';
import { readTask } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { problemOf, violated } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { createBudget } from '../middleware/limits.ts';
import { isIdempotencyKey, parseIdempotencyKey } from '../middleware/repeated-requests.ts';
import { DEPRECATION_HEADERS, setDeprecationHeaders } from '../middleware/response-headers.ts';
import { respondWithTask, taskIdOf } from './task-response.ts';

type WireResult = WireTaskBatchResult['results'][number];

const parseBatch = compileParse(TaskBatchBodySchema, 'invalid request');
const KEY_FORM = 'must be 1-255 visible ASCII characters';
const SMALL = (): Promise<void> => Promise.resolve();
/** How many items are processed in one turn of the event loop. */
const ITEMS_IN_A_TURN = 20;

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
    defineRoute({
      method: 'POST',
      path: '/v1/tasks:batch',
      operationId: 'createTasks',
      tag: 'Tasks',
      summary: 'Create several tasks',
      description: `Creates up to ${MAX_BATCH_TASKS} tasks in one transaction. Each item is answered as \`POST /v1/tasks\` would answer it, and those that are rejected hold nothing. New tasks count against the limit of create requests one by one, at most a whole minute’s; if the limit does not allow them, nothing is created.`,
      access: 'tasks:write',
      budget: 'deferred',
      body: {
        kind: 'json',
        schema: CreateTaskBatchSchema,
        maxBytes: CREATE_BODY_BYTES,
        isCheckedLater: true,
        examples: {
          two: {
            summary: 'Two tasks',
            value: {
              tasks: [
                { model: 'darkroom/scene', input: { prompt: 'A lighthouse at dusk' }, idempotencyKey: 'order-7-1' },
                { model: 'darkroom/scene', input: { prompt: 'A lighthouse at dawn' }, idempotencyKey: 'order-7-2' },
              ],
            },
          },
        },
      },
      response: { kind: 'data', schema: TaskBatchResultSchema },
      async handle({ caller, body, large }) {
        const parsed = parseBatch(body);
        if (parsed.violation !== undefined) throw violated(parsed.violation);
        const budget = createBudget(caller);
        const outcomes = await http.taskCreator.createMany(
          caller,
          parsed.value.tasks.map(itemOf),
          (tasks) => http.rateLimiter.take(budget, Math.min(tasks, budget.perMinute)),
          inTurns(large?.nextTurn ?? (parsed.value.tasks.length > ITEMS_IN_A_TURN ? () => http.turns.next() : SMALL)),
        );
        const accepted = outcomes.filter(isAcceptance).filter(({ isReplay }) => !isReplay);
        if (accepted.length > 0) http.wakeLauncher();
        for (const { claimed } of accepted) if (claimed !== undefined) http.wakeLauncher(claimed);
        return { results: outcomes.map(presentOutcome) };
      },
    }),
  ];
}

function itemOf({ idempotencyKey: key, ...body }: Readonly<Record<string, unknown>>): CreateItem {
  if (key === undefined) return { body, idempotencyKey: undefined };
  if (typeof key === 'string' && isIdempotencyKey(key)) return { body, idempotencyKey: key };
  const problem = violated(violation('invalid request', 'idempotencyKey', 'pattern', KEY_FORM));
  return { body, idempotencyKey: undefined, problem };
}

/** @returns waits for a turn before every few items. */
function inTurns(nextTurn: () => Promise<void>): () => Promise<void> {
  let items = 0;
  return async () => {
    if (items++ % ITEMS_IN_A_TURN === 0) await nextTurn();
  };
}

function presentOutcome(outcome: ManyOutcome): WireResult {
  if (isAcceptance(outcome)) return { status: 200, taskId: outcome.taskId, isReplay: outcome.isReplay };
  const { kind, message } = problemOf(outcome);
  return { status: factsOf(kind).status, error: failure(kind, message) };
}

/** `POST /v1/tasks/estimate`: what a create would cost, and everything that is wrong with it. */
export function estimateRoutes(http: HttpContext): readonly Route[] {
  const checkBody = compileViolations(CreateTaskSchema, 'invalid request');
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/tasks/estimate',
      operationId: 'estimateTask',
      changesState: false,
      tag: 'Tasks',
      summary: 'Estimate the cost of a task',
      description:
        'Accepts the same body as `POST /v1/tasks`, but creates no task and holds no money. All validation errors are listed in a response with status 200; only an unknown model returns an error.',
      access: 'tasks:write',
      body: {
        kind: 'json',
        schema: CreateTaskSchema,
        maxBytes: CREATE_BODY_BYTES,
        isCheckedLater: true,
        needsFacts: true,
      },
      response: { kind: 'data', schema: EstimateSchema },
      responseHeaders: DEPRECATION_HEADERS,
      errors: ['MODEL_UNAVAILABLE'],
      async handle({ ctx, caller, body, large }) {
        const estimate = await estimateTask({ ...http, checkBody }, caller, body, large);
        setDeprecationHeaders(ctx, estimate.model === undefined ? undefined : http.catalogue.find(estimate.model));
        return presentEstimate(estimate);
      },
    }),
  ];
}

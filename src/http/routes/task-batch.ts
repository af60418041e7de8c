/** `POST /v1/tasks:batch`: up to a thousand creates in one request and one transaction (contract §2.7). */
import { failure } from '@darkroom/api/tasks/envelope';
import {
  CreateTaskBatchSchema,
  MAX_BATCH_TASKS,
  TaskBatchBodySchema,
  TaskBatchResultSchema,
} from '@darkroom/api/tasks/create-batch';
import type { WireTaskBatchResult } from '@darkroom/api/tasks/create-batch';
import { violation } from '@darkroom/api/facts/violation';
import { factsOf } from '../../domain/darkroom-error.ts';
import { compileParse } from '../../schema/schema-validation.ts';
import { isAcceptance } from '../../tasks/create/accept-many.ts';
import type { ManyOutcome } from '../../tasks/create/accept-many.ts';
import type { CreateItem } from '../../tasks/create/create-many.ts';
import type { HttpContext } from '../app/context.ts';
import { problemOf, violated } from '../app/errors.ts';
import { createBudget } from '../middleware/limits.ts';
import { isIdempotencyKey } from '../middleware/repeated-requests.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';

type WireResult = WireTaskBatchResult['results'][number];

const parseBody = compileParse(TaskBatchBodySchema, 'invalid request');
const KEY_FORM = 'must be 1-255 visible ASCII characters';
const SMALL = (): Promise<void> => Promise.resolve();
/** How many items are processed in one turn of the event loop. */
const ITEMS_IN_A_TURN = 20;

export function taskBatchRoutes(http: HttpContext): readonly Route[] {
  return [
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
        const parsed = parseBody(body);
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

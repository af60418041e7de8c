/**
 * `POST /v1/tasks/estimate`: what a create would cost, and everything that is wrong with it (contract §4).
 */
import { compileViolations } from '../../schema/schema-validation.ts';
import { estimateTask } from '../../tasks/create/estimate.ts';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import { EstimateSchema } from '@darkroom/api/tasks/estimate';
import { presentEstimate } from '../../presenters/task.ts';
import type { HttpContext } from '../app/context.ts';
import { DEPRECATION_HEADERS, setDeprecationHeaders } from '../middleware/response-headers.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

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

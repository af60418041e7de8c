/**
 * `POST /v1/tasks/estimate`: what a create would cost, and everything that is wrong with it (contract §4).
 */
import { compileViolations } from '../../catalogue/schema-validation.ts';
import { estimateTask } from '../../tasks/create/estimate.ts';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import { EstimateSchema } from '@darkroom/api/tasks/estimate';
import { presentEstimate } from '../../presenters/estimate.ts';
import type { HttpContext } from '../app/context.ts';
import { DEPRECATION_HEADERS, tellDeprecation } from '../middleware/deprecation.ts';
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
      summary: 'Estimate a task',
      description:
        'The body of a create, which is not carried out: nothing is held. All that is wrong with the request is listed, with status 200; only an unknown model is refused.',
      access: 'tasks:write',
      body: {
        kind: 'json',
        schema: CreateTaskSchema,
        maxBytes: CREATE_BODY_BYTES,
        isCheckedLater: true,
        needsFacts: true,
      },
      answer: { kind: 'data', schema: EstimateSchema },
      answerHeaders: DEPRECATION_HEADERS,
      errors: ['MODEL_UNAVAILABLE'],
      async handle({ ctx, caller, body, large }) {
        const request = body as unknown as Readonly<Record<string, unknown>>;
        const estimate = await estimateTask({ ...http, checkBody }, caller, request, large);
        tellDeprecation(ctx, estimate.model === undefined ? undefined : http.catalogue.find(estimate.model));
        return presentEstimate(estimate);
      },
    }),
  ];
}

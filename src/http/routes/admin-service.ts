/**
 * The state of the service for operators: how full its queues are, its catalogue, and the metrics.
 */
import { Type } from 'typebox';
import { readQueues } from '../../tasks/outbox/queues.ts';
import { METRICS_TYPE } from '../../telemetry/metrics.ts';
import { QueuesSchema } from '@darkroom/api/admin/admin';
import { AdminCatalogueSchema } from '@darkroom/api/admin/admin-catalogue';
import { presentCatalogue } from '../../presenters/admin-catalogue.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const NO_QUERY = Type.Object({}, { additionalProperties: false });

export function adminServiceRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/admin/queues',
      operationId: 'adminGetQueues',
      tag: 'Administration',
      summary: 'See what waits and runs',
      access: 'operator',
      answer: { kind: 'data', schema: QueuesSchema },
      handle: () => readQueues(http.database, http.now()),
    }),
    defineRoute({
      method: 'GET',
      path: '/metrics',
      operationId: 'adminGetMetrics',
      tag: 'Administration',
      summary: 'Read the metrics of this process',
      description:
        'For Prometheus, with the token as its bearer credential. `METRICS_PORT` has the same without one, and a worker has it only there.',
      access: 'operator',
      query: NO_QUERY,
      answer: { kind: 'other', mimeTypes: ['text/plain'], description: "Prometheus' text format." },
      async handle({ ctx }) {
        const text = await http.renderMetrics();
        ctx.status = 200;
        ctx.set('Cache-Control', 'no-store');
        ctx.type = METRICS_TYPE;
        ctx.body = text;
        return undefined;
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/admin/catalogue',
      operationId: 'adminGetCatalogue',
      tag: 'Administration',
      summary: 'List the models that are loaded, and the model files that are rejected',
      description: 'As the process that answers sees it: each one follows the model files by itself.',
      access: 'operator',
      answer: { kind: 'data', schema: AdminCatalogueSchema },
      async handle() {
        return presentCatalogue(http.catalogue);
      },
    }),
  ];
}

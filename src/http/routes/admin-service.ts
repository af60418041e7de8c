/**
 * The state of the service for operators: how full its queues are, its catalogue, and the metrics.
 */
import { Type } from 'typebox';
import { readQueues } from '../../tasks/outbox/backlog.ts';
import { METRICS_TYPE } from '../../telemetry/metrics.ts';
import { QueuesSchema } from '@darkroom/api/admin/admin';
import { AdminCatalogueSchema } from '@darkroom/api/admin/admin-catalogue';
import { presentCatalogue } from '../../presenters/model.ts';
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
      summary: 'Get queue sizes',
      access: 'operator',
      response: { kind: 'data', schema: QueuesSchema },
      handle: () => readQueues(http.database, http.now()),
    }),
    defineRoute({
      method: 'GET',
      path: '/metrics',
      operationId: 'adminGetMetrics',
      tag: 'Administration',
      summary: 'Get the metrics of this process',
      description:
        'Configure Prometheus with the operator token as its bearer token. The same metrics are available without a token on `METRICS_PORT`, which is the only place where a worker serves them.',
      access: 'operator',
      query: NO_QUERY,
      response: { kind: 'other', mimeTypes: ['text/plain'], description: 'The metrics in the Prometheus text format.' },
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
      summary: 'Get the loaded catalogue',
      description:
        'Returns the loaded models and the rejected model files of the process that handles the request. Each process reads the model files independently.',
      access: 'operator',
      response: { kind: 'data', schema: AdminCatalogueSchema },
      async handle() {
        return presentCatalogue(http.catalogue);
      },
    }),
  ];
}

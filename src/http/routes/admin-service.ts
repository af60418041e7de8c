/**
 * The state of the service for operators: how full its queues are, and what its catalogue is.
 */
import { readQueues } from '../../tasks/queues.ts';
import { QueuesSchema } from '../../wire/admin.ts';
import { AdminCatalogueSchema, presentCatalogue } from '../../wire/admin-catalogue.ts';
import type { HttpContext } from '../context.ts';
import { defineRoute } from '../route.ts';
import type { Route } from '../route.ts';

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
      path: '/admin/catalogue',
      operationId: 'adminGetCatalogue',
      tag: 'Administration',
      summary: 'See what models are loaded, and which model files are refused',
      description: 'As the process that answers sees it: each one follows the model files by itself.',
      access: 'operator',
      answer: { kind: 'data', schema: AdminCatalogueSchema },
      async handle() {
        return presentCatalogue(http.catalogue);
      },
    }),
  ];
}

/**
 * The state of the service for operators: how full its queues are.
 */
import { readQueues } from '../../tasks/queues.ts';
import { QueuesSchema } from '../../wire/admin.ts';
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
  ];
}

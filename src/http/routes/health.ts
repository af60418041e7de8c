/**
 * `/healthz`: this process runs. `/readyz`: it can serve, that is, the database and the store are available and its
 * clock is right. Temporal is not checked: tasks are accepted, read and cancelled without it (architecture,
 * "PostgreSQL is the record that callers see").
 */
import { Type } from 'typebox';
import { respondsInTime } from '../../telemetry/dependency-checks.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const HealthSchema = Type.Object({ status: Type.Literal('ok') }, { additionalProperties: false });

const ReadinessSchema = Type.Object(
  {
    status: Type.String({ enum: ['ready', 'not ready'] }),
    database: Type.Boolean(),
    store: Type.Boolean(),
    clock: Type.Boolean(),
    draining: Type.Boolean(),
  },
  { additionalProperties: false },
);

export function healthRoutes(http: HttpContext): readonly Route[] {
  const isDatabaseUp = respondsInTime(0, () => http.database.check());
  const isStoreUp = respondsInTime(0, () => http.store.check());
  return [
    defineRoute({
      method: 'GET',
      path: '/healthz',
      operationId: 'getHealth',
      tag: 'Service',
      summary: 'Check liveness',
      description: 'Returns 200 while this process is running.',
      access: 'none',
      response: { kind: 'json', schema: HealthSchema },
      handle: async () => ({ status: 'ok' }),
    }),
    defineRoute({
      method: 'GET',
      path: '/readyz',
      operationId: 'getReadiness',
      tag: 'Service',
      summary: 'Check readiness',
      description:
        'Returns 200 if this process can serve requests: the database and the store are available and its clock is correct. Otherwise returns 503 with the same body.',
      access: 'none',
      response: { kind: 'json', schema: ReadinessSchema },
      otherResponses: { 503: { description: 'Not ready.', schema: ReadinessSchema } },
      async handle({ ctx }) {
        const [database, store] = await Promise.all([isDatabaseUp(), isStoreUp()]);
        const clock = http.clock.isRight();
        const isReady = http.isReady() && database && store && clock;
        ctx.set('Cache-Control', 'no-store');
        const readiness = {
          status: isReady ? 'ready' : 'not ready',
          database,
          store,
          clock,
          draining: !http.isReady(),
        };
        if (isReady) return readiness;
        ctx.status = 503;
        ctx.body = readiness;
        return undefined;
      },
    }),
  ];
}

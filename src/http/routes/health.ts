/**
 * `/healthz`: this process runs. `/readyz`: it can accept requests and answer them, that is, the database is available
 * and its clock is right. Balancers send requests only to processes that are ready, so nothing else may decide it:
 * without Temporal and without the store tasks are accepted, read and cancelled, and the requests that need the store
 * answer 503 by themselves. What is known of the store is reported all the same (docs/operations/scale.md has all
 * dependencies and roles).
 */
import { Type } from 'typebox';
import { lastKnown, respondsInTime } from '../../telemetry/dependency-checks.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const HealthSchema = Type.Object({ status: Type.Literal('ok') }, { additionalProperties: false });

const ReadinessSchema = Type.Object(
  {
    status: Type.String({ enum: ['ready', 'not ready'] }),
    database: Type.Boolean(),
    /** Null: not known yet. */
    store: Type.Union([Type.Boolean(), Type.Null()]),
    clock: Type.Boolean(),
    draining: Type.Boolean(),
  },
  { additionalProperties: false },
);

/** How long a check of the object store is reused, in milliseconds: each writes, reads and deletes an object. */
const STORE_FRESH_MS = 5_000;

const LIVENESS = '/healthz';
const READINESS = '/readyz';

/** Probes come from the machine or the cluster, not through the proxy, and hold nothing secret. */
export const PROBES: ReadonlySet<string> = new Set([LIVENESS, READINESS]);

export function healthRoutes(http: HttpContext): readonly Route[] {
  const isDatabaseUp = respondsInTime(0, () => http.database.check());
  const isStoreUp = lastKnown(STORE_FRESH_MS, () => http.store.check());
  return [
    defineRoute({
      method: 'GET',
      path: LIVENESS,
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
      path: READINESS,
      operationId: 'getReadiness',
      tag: 'Service',
      summary: 'Check readiness',
      description:
        'Returns 200 if this process can accept and answer requests: the database is available, its clock is correct and it is not draining. Otherwise returns 503 with the same body. `store` reports whether the object store responded when it was last checked, null if it was not checked yet; requests that need it return 503 by themselves.',
      access: 'none',
      response: { kind: 'json', schema: ReadinessSchema },
      otherResponses: { 503: { description: 'Not ready.', schema: ReadinessSchema } },
      async handle({ ctx }) {
        const store = isStoreUp() ?? null;
        const database = await isDatabaseUp();
        const clock = http.clock.isRight();
        const isReady = http.isReady() && database && clock;
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

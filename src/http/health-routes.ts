/**
 * `/healthz`: this process runs. `/readyz`: it can serve, that is, the database and the store answer. Temporal is not
 * asked: tasks are accepted, read and cancelled without it (architecture).
 */
import type Router from '@koa/router';
import type { HttpContext } from './context.ts';
import type { RequestState } from './middleware.ts';

export function registerHealthRoutes(router: Router<RequestState>, http: HttpContext): void {
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });

  router.get('/readyz', async (ctx) => {
    const [database, store] = await Promise.all([isFine(http.database.check()), isFine(http.store.check())]);
    const isReady = http.isReady() && database && store;
    ctx.status = isReady ? 200 : 503;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { status: isReady ? 'ready' : 'not ready', database, store, draining: !http.isReady() };
  });
}

async function isFine(check: Promise<unknown>): Promise<boolean> {
  try {
    await check;
    return true;
  } catch {
    return false;
  }
}

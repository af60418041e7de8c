/** Records each request as a span, by its route's pattern (telemetry/tracing.ts). */
import type { Middleware } from 'koa';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { AnsweredRequest, Tracing } from '../../telemetry/tracing.ts';
import { matchedRoute } from '../app/matched-route.ts';
import type { RequestState } from '../app/context.ts';

/** @param untraced paths whose requests are left out. */
export function traceRequests(
  tracing: Tracing,
  now: () => number,
  untraced: ReadonlySet<string>,
): Middleware<RequestState> {
  return async (ctx, next) => {
    if (untraced.has(ctx.path)) return next();
    const startedAt = now();
    await next();
    const route = matchedRoute(ctx);
    const { taskId: named }: { taskId?: unknown } = (ctx['params'] as object | undefined) ?? {};
    const created = ctx.state.createdTaskId;
    const taskId = created ?? (typeof named === 'string' && isTaskId(named) ? named : undefined);
    const request: AnsweredRequest = {
      name: route === undefined ? ctx.method : `${ctx.method} ${route}`,
      startedAt,
      attributes: {
        'http.request.method': ctx.method,
        'http.route': route,
        'http.response.status_code': ctx.status,
        'darkroom.request_id': ctx.state.requestId,
        'darkroom.task_id': taskId,
      },
      failure: ctx.status >= 500 ? String(ctx.status) : undefined,
      taskId,
      isCreation: created !== undefined,
      traceparent: ctx.get('traceparent'),
    };
    tracing.request(request);
  };
}

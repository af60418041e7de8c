/**
 * What is recorded of every request: in the metrics, in the access log, as a span. The request is known by the pattern
 * of its route, and the task by its id.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import { UNMATCHED_ROUTE } from '../../telemetry/metrics-traffic.ts';
import type { RequestMetrics } from '../../telemetry/metrics-traffic.ts';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { RequestState } from '../app/context.ts';

/** The status that other servers log where the client disconnected before the response. */
const CLIENT_CLOSED_REQUEST = 499;

/** Counts every request, from its head to the end of its response. */
export function countRequests(metrics: RequestMetrics): Middleware {
  return (ctx, next) => {
    const startedAt = performance.now();
    metrics.begun();
    ctx.res.once('close', () => {
      const { headersSent, statusCode } = ctx.res;
      const seconds = (performance.now() - startedAt) / 1000;
      metrics.ended(
        matchedRoute(ctx) ?? UNMATCHED_ROUTE,
        ctx.method,
        headersSent ? statusCode : CLIENT_CLOSED_REQUEST,
        seconds,
      );
    });
    return next();
  };
}

/** Counts requests that the parser rejects, or that do not arrive in time: neither reaches the middleware. */
export function countBrokenRequests(server: Server, metrics: RequestMetrics): void {
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException) => {
    if (code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT') metrics.rejected();
  });
}

/**
 * The access log (`LOG_REQUESTS`): one line for each request, when its response has ended, streams included. It records
 * the caller by ids and the request by the pattern of its route: a path can be a signed URL's or hold whatever a client
 * put there by mistake, and a query, a header or a body even more so.
 *
 * @param clientAddress finds the address, considering the listener's trusted proxies.
 */
export function logRequests(
  logger: Logger,
  clientAddress: (request: IncomingMessage) => string,
): Middleware<RequestState> {
  return (ctx, next) => {
    const startedAt = performance.now();
    // A closed socket no longer has one.
    const address = clientAddress(ctx.req);
    const bytesSent = countBody(ctx.res);
    // Not `writableFinished`: for an in-process request (in-process-fetch.ts) it is never true.
    let isFinished = false;
    ctx.res.once('finish', () => {
      isFinished = true;
    });
    ctx.res.once('close', () => {
      const { headersSent, statusCode } = ctx.res;
      const { requestId, caller }: Partial<RequestState> = ctx.state;
      const taskId = taskOf(ctx);
      logger.info(
        {
          requestId,
          method: ctx.method,
          route: matchedRoute(ctx) ?? UNMATCHED_ROUTE,
          status: headersSent ? statusCode : CLIENT_CLOSED_REQUEST,
          durationMs: Math.round(performance.now() - startedAt),
          bytes: bytesSent(),
          clientAddress: address,
          ...identityOf(caller),
          ...(taskId === undefined ? {} : { taskId }),
          ...(isFinished ? {} : { isAborted: true }),
        },
        'request answered',
      );
    });
    return next();
  };
}

function identityOf(caller: Caller | undefined): { readonly accountId?: string; readonly keyId?: string } {
  return caller === undefined ? {} : { accountId: caller.accountId, keyId: caller.keyId };
}

/** Counts the bytes written of the body. The socket's own count includes heads and the responses to other requests. */
function countBody(response: ServerResponse): () => number {
  let bytes = 0;
  const count = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === 'string') bytes += Buffer.byteLength(chunk, encodingOf(encoding));
    else if (chunk instanceof Uint8Array) bytes += chunk.byteLength;
  };
  for (const name of ['write', 'end'] as const) {
    const send = response[name].bind(response) as (...args: unknown[]) => never;
    response[name] = (...args: unknown[]) => {
      count(args[0], args[1]);
      return send(...args);
    };
  }
  return () => (response.req.method === 'HEAD' ? 0 : bytes);
}

function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8';
}

/** Records each request as a span (telemetry/tracing.ts). @param untraced paths whose requests are left out. */
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
    const taskId = taskOf(ctx);
    tracing.request({
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
      isCreation: ctx.state.createdTaskId !== undefined,
      traceparent: ctx.get('traceparent'),
    });
  };
}

/**
 * The pattern of the route that matched a request, as the router has it: for logs, metrics and traces. Never the
 * path, which can be a signed URL's, and of which clients can send any number.
 *
 * @returns undefined where no route matched.
 */
export function matchedRoute(ctx: Context): string | undefined {
  const pattern: unknown = ctx['_matchedRoute'];
  return typeof pattern === 'string' ? pattern : undefined;
}

/** The task that a request created or names; a parameter that is no task id is left out: it may hold anything. */
function taskOf(ctx: Context): TaskId | undefined {
  const { createdTaskId } = ctx.state as Partial<RequestState>;
  const { taskId }: { readonly taskId?: unknown } = (ctx['params'] as object | undefined) ?? {};
  return createdTaskId ?? (typeof taskId === 'string' && isTaskId(taskId) ? taskId : undefined);
}

/**
 * The access log (`LOG_REQUESTS`): one line for each request, when its response has ended, streams included. It
 * records the caller by ids and the request by the pattern of its route: a path can be a signed URL's or hold
 * whatever a client put there by mistake, and a query, a header or a body even more so.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import { UNMATCHED_ROUTE } from '../../telemetry/metrics-traffic.ts';
import { matchedRoute } from '../app/matched-route.ts';
import type { RequestState } from '../app/request-state.ts';
import { CLIENT_CLOSED_REQUEST } from './request-metrics.ts';

/** The outermost middleware. @param clientAddress finds the address, considering the listener's trusted proxies. */
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
          ...taskOf(ctx, ctx.state),
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

/** The task that the request created or names; a parameter that is no task id is left out: it may hold anything. */
function taskOf(ctx: Context, { createdTaskId }: Partial<RequestState>): { readonly taskId?: string } {
  const { taskId }: { readonly taskId?: unknown } = (ctx['params'] as object | undefined) ?? {};
  const named = typeof taskId === 'string' && isTaskId(taskId) ? taskId : undefined;
  const concerned = createdTaskId ?? named;
  return concerned === undefined ? {} : { taskId: concerned };
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

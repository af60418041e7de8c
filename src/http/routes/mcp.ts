/**
 * `POST /mcp`: the tools of packages/mcp/src over the Model Context Protocol's streamable HTTP. Nothing is stored
 * between requests, so that any process answers any of them; each tool call goes through this same application as a
 * request of the same key, so that scopes, budgets and errors are those of the routes it uses.
 */
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { ParameterizedContext } from 'koa';
import { createApiClient } from '@darkroom/api/client/api-client';
import { ForbiddenError, UnauthenticatedError } from '../../accounts/authenticate.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import type { RequestError } from '../app/errors.ts';
import { createInProcessFetch } from '../app/in-process-fetch.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { AnswerSchema, MessagesSchema } from '@darkroom/api/mcp/json-rpc';
import { defineRoute } from '../app/route.ts';
import { holdShareUntilClosed } from '../middleware/limits.ts';
import type { Route } from '../app/route.ts';

/**
 * How long the call of a key that has lost access has to report that itself, because its requests are answered with
 * 401 or 403 from then on.
 */
const GRACE_MS = 3_000;

export function mcpRoutes(http: HttpContext): readonly Route[] {
  const { publicUrl } = http.urlSigner;
  const { origin } = new URL(publicUrl);
  let handle: RequestListener | undefined;

  const clientOf = (ctx: ParameterizedContext<RequestState>, nextTurn: (() => Promise<void>) | undefined) => {
    const application = (handle ??= callbackOf(ctx));
    const { requestId } = ctx.state;
    const fetch = createInProcessFetch({ handle: application, outer: ctx.req, requestId, origin, nextTurn });
    return createApiClient({ baseUrl: `${publicUrl}/v1`, fetch });
  };

  return [
    defineRoute({
      method: 'POST',
      path: '/mcp',
      operationId: 'callMcp',
      // What its tools change, they change by operations of this table.
      changesState: false,
      tag: 'Service',
      summary: 'Send a Model Context Protocol message',
      description:
        'Uses the streamable HTTP transport without sessions. A tool has the permissions of the key; each request that a tool sends counts as a request of the key.',
      access: 'any',
      headers: {
        Accept: '`text/event-stream` in addition to JSON: responses to tool calls are streamed, with progress.',
        Origin: 'Sent by browsers. Requests from pages of other origins are rejected.',
        'Mcp-Protocol-Version': 'The protocol version that was negotiated.',
      },
      body: {
        kind: 'json',
        schema: MessagesSchema,
        maxBytes: CREATE_BODY_BYTES,
        examples: {
          tools: { summary: 'List the tools', value: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
        },
      },
      response: { kind: 'json', schema: AnswerSchema },
      otherResponses: {
        200: { description: 'For a tool call: progress, then the result.', mimeTypes: ['text/event-stream'] },
        202: { description: 'The message was a notification, which has no response.' },
      },
      errors: ['FORBIDDEN'],
      async handle({ ctx, caller, body, large }) {
        // A session of the dashboard is not a key: pages do not call tools.
        if (ctx.req.headers.authorization === undefined) throw new UnauthenticatedError();
        if (caller.origins === undefined) requireOwnOrigin(ctx, origin);
        await holdShareUntilClosed(http.waitingResponses, caller.accountId, ctx.res);
        const { WebStandardStreamableHTTPServerTransport, boundedTransport, createMcpServer, takenOf } =
          await loadMcp();
        const server = createMcpServer({
          api: clientOf(ctx, large?.nextTurn),
          mayWait: () => http.isReady(),
          // Sent since 2025-06-18.
          protocolVersion: () => ctx.get('Mcp-Protocol-Version'),
        });
        const messages = [body].flat().flatMap((message) => takenOf(message) ?? []);
        const transport = new WebStandardStreamableHTTPServerTransport({
          enableJsonResponse: !isStreamed(ctx, messages),
        });
        await server.connect(boundedTransport(transport as Transport));
        // Already disconnected: no event would report the end of the response.
        if (ctx.res.closed || ctx.res.destroyed) {
          void server.close();
          return undefined;
        }
        let cut: NodeJS.Timeout | undefined;
        const unregister = http.openResponses.register(caller, () => {
          cut = setTimeout(() => ctx.res.destroy(), GRACE_MS);
        });
        const closed = new Promise<undefined>((resolve) => {
          ctx.res.once('close', () => {
            clearTimeout(cut);
            unregister();
            void server.close();
            resolve(undefined);
          });
        });
        await large?.nextTurn();
        const response = await Promise.race([
          transport.handleRequest(requestOf(ctx, origin), { parsedBody: messages }),
          closed,
        ]);
        return response === undefined || ctx.res.destroyed ? undefined : answer(ctx, response);
      },
    }),
  ];
}

/** With the first message: the protocol's SDK brings some 150 modules, which most processes never need. */
async function loadMcp() {
  const [transport, bounded, incoming, server] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@darkroom/mcp/bounded-transport'),
    import('@darkroom/mcp/incoming-message'),
    import('@darkroom/mcp/server'),
  ]);
  return { ...transport, ...bounded, ...incoming, ...server };
}

function callbackOf({ app }: ParameterizedContext<RequestState>): RequestListener {
  const callback = app.callback();
  return (request, response) => void callback(request, response);
}

/**
 * For every caller but a token for pages, whose own origins were required already.
 *
 * @throws {ForbiddenError} a page of another origin: the protocol requires this check ("Security Warning").
 */
function requireOwnOrigin(ctx: ParameterizedContext<RequestState>, origin: string): void {
  const from = ctx.get('Origin');
  if (from === '' || from === origin) return;
  throw new ForbiddenError(`pages of other origins may not use this; only those of ${origin}`);
}

/** Tool calls may wait and report progress meanwhile; everything else is answered at once. */
function isStreamed(ctx: ParameterizedContext<RequestState>, messages: readonly JSONRPCMessage[]): boolean {
  const isCall = messages.some((message) => 'method' in message && message.method === 'tools/call');
  return isCall && ctx.accepts('text/event-stream') !== false;
}

/** The request in the form that the transport expects; its body was read, and its `Accept` checked. */
function requestOf(ctx: ParameterizedContext<RequestState>, origin: string): Request {
  const version = ctx.get('Mcp-Protocol-Version');
  return new Request(`${origin}/mcp`, {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...(version === '' ? {} : { 'Mcp-Protocol-Version': version }),
    },
  });
}

async function answer(ctx: ParameterizedContext<RequestState>, response: Response): Promise<unknown> {
  if (response.status >= 400) throw await toRequestError(response);
  ctx.set('Cache-Control', 'no-store');
  if (response.status === 202) {
    ctx.status = 202;
    ctx.body = '';
    ctx.remove('Content-Type');
    return undefined;
  }
  if (response.headers.get('Content-Type') === 'application/json') return response.json();
  ctx.status = 200;
  ctx.set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
  });
  if (response.body !== null) ctx.body = Readable.fromWeb(response.body);
  return undefined;
}

/** A rejection by the transport gets the same form as all other errors here. */
async function toRequestError(response: Response): Promise<RequestError> {
  const { error } = (await response.json()) as { readonly error?: { readonly message?: string; data?: unknown } };
  const message = error?.message ?? 'not a message of the protocol';
  return invalidRequest(`invalid request: ${message}`);
}

/**
 * From a route's description to its handler: authentication and access, rate limits, the query and the body by their
 * schemas, then the handler, then the response with its entity tag (contract §1, §3, §7).
 */
import { idOf } from '@darkroom/api/mcp/json-rpc';
import { success } from '@darkroom/api/tasks/envelope';
import type Router from '@koa/router';
import etag from 'etag';
import type { Middleware, ParameterizedContext } from 'koa';
import { AccountSuspendedError, UnauthenticatedError, requireScope } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import { isRecord } from '../../domain/json.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import type { Budget } from '../../limits/rate-limiter.ts';
import { listsTag } from '../../objects/urls/media-response.ts';
import { compileOpenAiParse, openAiCodeOf } from '../../schema/openai-parse.ts';
import { compileParse, compileViolation } from '../../schema/schema-validation.ts';
import type { Parse } from '../../schema/schema-validation.ts';
import { answerOtherMethod } from './unrouted.ts';
import type { BodyAllowance } from '../bodies/body-allowance.ts';
import type { HttpContext, RequestState } from './context.ts';
import { errorFormOf, invalidRequest, isOfOpenAi, violated } from './errors.ts';
import { requireOrigin, shareError } from '../middleware/cross-origin.ts';
import {
  EXPENSIVE_WAIT_MS,
  countFailedAuthentication,
  createBudget,
  readBudget,
  setOpenAiLimitHeaders,
  setRateLimitHeaders,
  setTextLimitHeaders,
  textBudget,
} from '../middleware/limits.ts';
import { SMALL_BODY_BYTES, hasNoBody, readJson } from '../bodies/json-body.ts';
import { requireOperator } from '../middleware/guards.ts';
import { readQuery } from './query.ts';
import { WithoutEnvelope } from './route.ts';
import type { Route, RouteRequest } from './route.ts';

/**
 * Registers routes in their order.
 *
 * @returns middleware that serves those without parameters, before the router, which tries every pattern it has on
 *   every request. A literal path matches no pattern: `/v1/tasks/estimate` is not a task, whatever the method.
 */
export function registerRoutes(
  router: Router<RequestState>,
  http: HttpContext,
  routes: readonly Route[],
): Middleware<RequestState> {
  const writtenOut = new Map<string, Map<string, Serve>>();
  for (const route of routes) {
    const serve = server(http, route);
    if (route.path.includes('{')) {
      router.register(koaPath(route.path), [route.method], [serve]);
      continue;
    }
    const methods = writtenOut.get(route.path) ?? new Map<string, Serve>();
    writtenOut.set(route.path, methods.set(route.method, serve));
  }
  return async (ctx, next) => {
    const methods = writtenOut.get(ctx.path);
    if (methods === undefined) return next();
    const serve = methods.get(ctx.method === 'HEAD' ? 'GET' : ctx.method);
    if (serve === undefined) return answerOtherMethod(ctx, methods.keys());
    // What the router would set.
    ctx['_matchedRoute'] = ctx.path;
    return serve(Object.assign(ctx, { params: {} }));
  };
}

/** `/v1/tasks/{taskId}` in the router's syntax; `{name...}` takes the rest of the path, slashes included. */
function koaPath(path: string): string {
  return path.replaceAll(/\{(\w+)\.\.\.\}/g, '*$1').replaceAll(/\{(\w+)\}/g, ':$1');
}

type Served = ParameterizedContext<RequestState> & { params: Record<string, string | undefined> };
type Serve = (ctx: Served) => Promise<void>;

function server(http: HttpContext, route: Route): Serve {
  const checkQuery = route.query === undefined ? undefined : compileViolation(route.query, 'invalid request');
  const parseBody = bodyParser(route);
  const form = errorFormOf(route.path);
  const isOpenAi = isOfOpenAi(route.path);
  const failingHeader = `${http.config.callbacks.headerPrefix}-Callback-Failing`;

  return async (ctx) => {
    if (route.access === 'none' || route.access === 'operator') {
      if (route.access === 'operator') await requireOperator(http, ctx.req);
      await answer(ctx);
      return;
    }
    const caller = await identify(ctx);
    ctx.state.caller = caller;
    setFailingReceivers(ctx, caller);
    const budget = budgetOf(route, caller);
    let areLimitsSet = false;
    try {
      requireAccess(caller);
      if (route.budget !== 'deferred') {
        const waitSeconds = await http.rateLimiter.take(budget);
        if (waitSeconds > 0) throw new RateLimitedError(waitSeconds);
        areLimitsSet = true;
        setLimitHeaders(ctx, budget);
      }
      await answer(ctx);
    } finally {
      // Contract §7: on every authenticated response.
      if (!areLimitsSet && !ctx.headerSent) setLimitHeaders(ctx, budget);
    }
  };

  async function identify(ctx: Served): Promise<Caller> {
    try {
      const session = ctx.req.headers.authorization === undefined ? http.sessionCookie.read(ctx.req) : undefined;
      if (session !== undefined) return await http.authenticator.authenticateSession(session);
      const caller = await http.authenticator.authenticate(authorizationOf(ctx));
      requireOrigin(http, ctx, caller);
      return caller;
    } catch (error) {
      shareError(http, ctx, error);
      if (error instanceof UnauthenticatedError) await countFailedAuthentication(http, ctx.req);
      if (error instanceof AccountSuspendedError) {
        setFailingReceivers(ctx, error.caller);
        setLimitHeaders(ctx, budgetOf(route, error.caller));
      }
      throw error;
    }
  }

  /** Read together with the key: it costs no extra query. */
  function setFailingReceivers(ctx: Served, { failingReceivers }: Caller): void {
    if (failingReceivers > 0) ctx.set(failingHeader, String(failingReceivers));
  }

  function setLimitHeaders(ctx: Served, budget: Budget): void {
    setRateLimitHeaders(http, ctx, budget);
    // Those of text have the requests in them.
    if (route.budget === 'text' && ctx.state.caller !== undefined) setTextLimitHeaders(http, ctx, ctx.state.caller);
    else if (isOpenAi) setOpenAiLimitHeaders(http, ctx, 'requests', budget);
  }

  function requireAccess(caller: Caller): void {
    if (route.access !== 'any' && route.access !== 'none' && route.access !== 'operator') {
      requireScope(caller, route.access);
    }
  }

  /** The allowance is held until the response is sent: the body is in memory that long. */
  async function answer(ctx: Served): Promise<void> {
    const allowance = allowanceOf(ctx);
    try {
      await answerWithin(ctx, allowance);
    } finally {
      allowance?.release();
    }
  }

  function allowanceOf(ctx: Served): BodyAllowance | undefined {
    if (route.body?.kind !== 'json') return undefined;
    if (route.access === 'operator') return http.bodies.ofOperator();
    return route.access === 'none' ? http.bodies.ofAddress(ctx.req) : http.bodies.ofAccount(ctx.state.caller);
  }

  async function answerWithin(ctx: Served, allowance: BodyAllowance | undefined): Promise<void> {
    // The media route's query is ignored: some players add one of their own.
    const isStrict = route.response.kind !== 'other' || route.query !== undefined;
    const { query, prefixed } = isStrict
      ? readQuery(searchOf(ctx), route.query, checkQuery, { prefix: route.queryPrefix, isOpenAi })
      : { query: {}, prefixed: {} };
    const request: Parameters<Route['handle']>[0] = {
      ctx,
      caller: ctx.state.caller,
      params: paramsOf(ctx),
      query,
      prefixed,
      ...(await bodyOf(ctx, allowance)),
    };
    const { caller } = ctx.state;
    const result =
      route.isExpensive === true && caller !== undefined
        ? await http.expensiveReads.run(caller.accountId, () => route.handle(request), { waitMs: EXPENSIVE_WAIT_MS })
        : await route.handle(request);
    if (result === undefined) return;
    ctx.status = 200;
    if (!ctx.res.hasHeader('Cache-Control')) {
      ctx.set('Cache-Control', route.method === 'GET' ? 'private, no-cache' : 'no-store');
    }
    // The response may repeat all of it, and is serialised where it is sent.
    await request.large?.nextTurn();
    answerJson(ctx, contentOf(route, result));
    await request.large?.nextTurn();
  }

  async function bodyOf(
    ctx: Served,
    allowance: BodyAllowance | undefined,
  ): Promise<Pick<RouteRequest<never, unknown>, 'body' | 'large'>> {
    if (route.body?.kind !== 'json' || allowance === undefined) return { body: undefined };
    if (route.body.isOptional === true && hasNoBody(ctx.req)) return { body: {} };
    const { maxBytes = SMALL_BODY_BYTES, isCheckedLater = false, needsFacts = false } = route.body;
    const { bodyThreads: threads, turns } = http;
    const read = await readJson(ctx.req, { maxBytes, allowance, threads, turns, needsFacts });
    const { isLarge, facts } = read;
    // Before the check, whose error response needs the id.
    if (form === 'json-rpc') ctx.state.messageId = idOf(read.value);
    if (isLarge) await turns.next();
    const parsed = parseBody(read.value);
    const { violation } = parsed;
    if (violation !== undefined) throw violated(violation, isOpenAi ? openAiCodeOf(violation) : undefined);
    const { value: body } = parsed;
    if (isCheckedLater && !isRecord(body)) throw invalidRequest('invalid request: the body is not a JSON object');
    return { body, ...(isLarge && { large: { facts, nextTurn: () => turns.next() } }) };
  }
}

function bodyParser({ body, path }: Route): Parse<unknown> {
  if (body?.kind !== 'json' || body.isCheckedLater === true) return (value) => ({ value });
  return isOfOpenAi(path) ? compileOpenAiParse(body.schema) : compileParse(body.schema, 'invalid request');
}

/**
 * Returns the `Authorization` header if there is exactly one. Of two headers we might read one and a proxy the other,
 * so such a request has no valid key.
 */
function authorizationOf(ctx: Served): string | undefined {
  const values = ctx.req.headersDistinct['authorization'] ?? [];
  return values.length === 1 ? values[0] : undefined;
}

function budgetOf(route: Route, caller: Caller): Budget {
  if (route.budget === 'text') return textBudget(caller);
  return route.budget === 'create' || route.budget === 'deferred' ? createBudget(caller) : readBudget(caller);
}

const NO_SEARCH = new URLSearchParams();

/** Most targets have no query, and reading one makes a URL. */
function searchOf(ctx: Served): URLSearchParams {
  return ctx.originalUrl.includes('?') ? ctx.URL.searchParams : NO_SEARCH;
}

function paramsOf(ctx: Served): Record<string, string> {
  const params: Readonly<Record<string, string | string[] | undefined>> = ctx.params;
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, Array.isArray(value) ? value.join('/') : (value ?? '')]),
  );
}

function contentOf({ response }: Route, result: unknown): unknown {
  if (result instanceof WithoutEnvelope) return result.content;
  return response.kind === 'data' ? success(result) : result;
}

/** Responds with JSON; what the client already has (its `If-None-Match`) gets a 304 (contract §3). */
function answerJson(ctx: Served, value: unknown): void {
  const text = JSON.stringify(value);
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.body = text;
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return;
  const tag = etag(text);
  ctx.set('ETag', tag);
  // Not `ctx.fresh`: it is false if the request has `no-cache`, which many clients send along with the condition.
  const condition = ctx.req.headers['if-none-match'];
  if (condition !== undefined && listsTag(condition, tag, 'weak')) {
    ctx.status = 304;
    ctx.body = null;
  }
}

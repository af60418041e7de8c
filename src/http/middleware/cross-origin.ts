/**
 * Requests of pages from other origins (CORS): only with a short-lived token, and only from the origins that it names.
 * A key is never to be in a page, so what is requested with one cannot be read there.
 */
import type { Context, Middleware, ParameterizedContext } from 'koa';
import { AccountSuspendedError, ForbiddenError, UnauthenticatedError } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import { isTokenOrigin } from '../../accounts/tokens.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { countFailedAuthentication } from './limits.ts';

/** Headers that clients send; those of OpenAI's clients begin with `x-stainless-`. */
const REQUEST_HEADERS = [
  'accept',
  'authorization',
  'cache-control',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'mcp-protocol-version',
  'openai-organization',
  'openai-project',
  'prefer',
  'range',
  'user-agent',
  'x-request-id',
];
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** How long a browser may keep the answer: tokens are short-lived. */
const MAX_AGE_SECONDS = 300;
/** As long as an origin in a header may be. */
const MAX_ORIGIN = 300;

/** Answers a preflight request of an origin that has a valid token; any other one gets no permission. */
export function answerPreflights(http: HttpContext): Middleware<RequestState> {
  return async (ctx: Context, next) => {
    const origin = ctx.get('Origin');
    const isPreflight = ctx.method === 'OPTIONS' && origin !== '' && ctx.get('Access-Control-Request-Method') !== '';
    if (!isPreflight || !(ctx.path.startsWith('/v1/') || ctx.path === '/mcp')) return next();
    if (origin.length > MAX_ORIGIN || !(await isTokenOrigin(http.database, origin, http.now()))) {
      await countFailedAuthentication(http, ctx.req);
      return next();
    }
    const asked = ctx.get('Access-Control-Request-Headers').toLowerCase().split(',');
    const allowed = asked.map((name) => name.trim()).filter(isAllowedHeader);
    ctx.status = 204;
    ctx.set({
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Allow-Methods': METHODS,
      'Access-Control-Allow-Headers': allowed.join(', '),
      'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
      Vary: 'Origin, Access-Control-Request-Headers',
    });
    return undefined;
  };
}

function isAllowedHeader(name: string): boolean {
  return REQUEST_HEADERS.includes(name) || /^x-stainless-[a-z-]{1,40}$/.test(name);
}

type Served = Pick<ParameterizedContext<RequestState>, 'get' | 'set' | 'vary'>;

/**
 * Lets the page read the response, if the caller is a token for pages.
 *
 * @throws {ForbiddenError} the request comes from elsewhere.
 */
export function requireOrigin(http: HttpContext, ctx: Served, { origins }: Caller): void {
  if (origins === undefined) return;
  if (!share(http, ctx, origins)) {
    throw new ForbiddenError('this token is for pages of the origins that it was created with');
  }
}

/** The same for an error of a token that has no access any more: its page is to get another one. */
export function shareError(http: HttpContext, ctx: Served, error: unknown): void {
  if (error instanceof UnauthenticatedError) share(http, ctx, error.origins ?? new Set());
  if (error instanceof AccountSuspendedError) share(http, ctx, error.caller.origins ?? new Set());
}

/** @returns whether the request comes from one of the origins. */
function share({ config }: HttpContext, ctx: Served, origins: ReadonlySet<string>): boolean {
  const origin = ctx.get('Origin');
  if (!origins.has(origin)) return false;
  const { headerPrefix } = config.callbacks;
  ctx.set({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': `Content-Disposition, Content-Length, Content-Range, ETag, Idempotent-Replay, Location, Preference-Applied, Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, ${headerPrefix}-Task-Id, ${headerPrefix}-Warning, openai-poll-after-ms, openai-processing-ms, x-should-retry`,
  });
  ctx.vary('Origin');
  return true;
}

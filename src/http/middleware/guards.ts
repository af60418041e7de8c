/**
 * What a request must be before anything else looks at it: a head that two programs on the way, a proxy and this one,
 * cannot read differently (RFC 9112 §3.2), sent over HTTPS where only that is allowed (spec §1.8), and, to the routes
 * of operators, with their token. `Host` itself means nothing here: `PUBLIC_URL` is the only source of returned URLs
 * (contract, "Conventions").
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { HttpConfig } from '../../config/listeners.ts';
import { isTrusted, unmapIpv4 } from '../app/client-address.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest } from '../app/errors.ts';
import { countFailedAuthentication } from './limits.ts';

/** The maximum number of headers: more than any client sends. Each costs time wherever headers are examined. */
const MAX_HEADERS = 100;

/** The only supported value of `Expect`. It is ignored in a request of HTTP/1.0 (RFC 9110 §10.1.1). */
const CONTINUE = '100-continue';

/**
 * Checks the head of a request, and rewrites a target in absolute form to its path.
 *
 * @throws {RequestError} 400, 417 or 431.
 */
export function requireSoundHead(ctx: Context): void {
  requireFewHeaders(ctx);
  requireOneHost(ctx);
  requireKnownExpectation(ctx);
  usePathOfTarget(ctx);
  requireReadableTarget(ctx);
}

function requireFewHeaders(ctx: Context): void {
  if (ctx.req.rawHeaders.length <= 2 * MAX_HEADERS) return;
  const message = `the request has more than ${MAX_HEADERS} headers`;
  throw new RequestError('headers_too_large', message);
}

/** Node silently keeps the first of several `Host` headers; its own response to none has no body (server.ts). */
function requireOneHost({ req: { rawHeaders, headers, httpVersion } }: Context): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw invalidRequest('invalid request: the request has no Host header');
  }
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw invalidRequest('invalid request: the request has more than one Host header');
}

/** The connection closes after the response: whether a body still follows on it is for the client to decide. */
function requireKnownExpectation({ req: { headers, httpVersion } }: Context): void {
  const { expect } = headers;
  if (expect === undefined || httpVersion !== '1.1' || expect.toLowerCase() === CONTINUE) return;
  const message = `invalid request: Expect: only ${CONTINUE} can be met`;
  throw new RequestError('expectation_failed', message, { headers: { Connection: 'close' } });
}

/**
 * `GET http://host/path`, as sent to a proxy: served as its path. `Host` is ignored with such a target (RFC 9112
 * §3.2.2), and is not used here.
 */
function usePathOfTarget(ctx: Context): void {
  const { url = '' } = ctx.req;
  if (url.startsWith('/')) return;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return;
  const target = new URL(url);
  const path = `${target.pathname}${target.search}`;
  ctx.req.url = path;
  ctx.originalUrl = path;
  ctx.request.originalUrl = path;
  if (target.username !== '' || target.password !== '') {
    throw invalidRequest('invalid request: the request target contains user information');
  }
}

/** Rejects a target that is not a path, such as `http://[::1`, which Koa notices only when the path is read. */
function requireReadableTarget(ctx: Context): void {
  try {
    void ctx.path;
  } catch (error) {
    ctx.req.url = '/';
    const message = 'invalid request: the request target is not a path';
    throw new RequestError('invalid_request', message, { cause: error });
  }
}

/**
 * Rejects requests that did not come over HTTPS. No redirect: the request, with its key, is already exposed.
 *
 * @param others paths whose requests may come over HTTP.
 */
export function requireHttps(config: HttpConfig, others: ReadonlySet<string>): Middleware {
  return async (ctx, next) => {
    const isWrongScheme = config.requiresHttps ? !cameByHttps(ctx, config) : cameByHttp(ctx, config);
    if (isWrongScheme && !others.has(ctx.path)) {
      throw invalidRequest('only HTTPS is served here; send the request to the https URL');
    }
    await next();
  };
}

/** Whether a trusted proxy reports HTTP. On the loopback a proxy may report nothing, but what it reports is trusted. */
function cameByHttp(ctx: Context, config: HttpConfig): boolean {
  return (
    config.tls === undefined &&
    ctx.get('X-Forwarded-Proto') !== '' &&
    isByProxy(ctx, config) &&
    !cameByHttps(ctx, config)
  );
}

/** Whether a request came over HTTPS: decided by our own TLS or by the trusted proxies alone. */
export function cameByHttps(ctx: Context, config: HttpConfig): boolean {
  if (config.tls !== undefined) return true;
  if (ctx.get('X-Forwarded-Proto').split(',').pop()?.trim().toLowerCase() !== 'https') return false;
  return isByProxy(ctx, config);
}

function isByProxy(ctx: Context, config: HttpConfig): boolean {
  return isTrusted(config.trustedProxies, unmapIpv4(ctx.req.socket.remoteAddress ?? ''));
}

/**
 * Requires the one token of the configuration. It is not an API key, and no API key is accepted in its place.
 *
 * @throws {RequestError} 401. @throws {RateLimitedError} too many attempts with a 401 from this address.
 */
export async function requireOperator(http: HttpContext, request: IncomingMessage): Promise<void> {
  const headers = request.headersDistinct['authorization'] ?? [];
  const presented = headers.length === 1 ? /^Bearer +(\S+)$/i.exec(headers[0] ?? '')?.[1] : undefined;
  const token = http.config.admin?.token;
  if (token !== undefined && presented !== undefined && isSame(presented, token)) return;
  await countFailedAuthentication(http, request);
  throw new RequestError(
    'unauthenticated',
    'the admin token is missing or not valid; send Authorization: Bearer <ADMIN_TOKEN>',
  );
}

/** Takes the same time for a wrong token as for the right one, whatever its length. */
function isSame(presented: string, token: string): boolean {
  return timingSafeEqual(hash(presented), hash(token));
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

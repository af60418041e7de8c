/**
 * Checks a request before its headers and its target are used: requests that two programs on the way, a proxy and
 * this one, could read differently are rejected (RFC 9112 §3.2). `Host` itself means nothing here: `PUBLIC_URL` is
 * the only source of returned URLs (contract, "Conventions").
 */
import type { Context } from 'koa';
import { RequestError, invalidRequest } from '../app/errors.ts';

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

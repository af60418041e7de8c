/**
 * What has to be right in a request before its headers and its target are: those that two programs on its way could read
 * differently, a proxy and this one, are rejected (RFC 9112 §3.2). `Host` itself means nothing here: `PUBLIC_URL` is the
 * only source of the URLs that are handed out (contract, "Conventions").
 */
import type { Context } from 'koa';
import { RequestError, invalidRequest } from '../app/errors.ts';

/** More than any client sends; each costs time wherever they are looked at. */
const MAX_HEADERS = 100;

/** Of HTTP/1.1; what 1.0 says of it means nothing (RFC 9110 §10.1.1). */
const CONTINUE = '100-continue';

/**
 * Checks the head of a request, and leaves a target in absolute form as the path that it is.
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
  throw new RequestError({ status: 431, errorCode: 'INVALID_REQUEST', message });
}

/** Node keeps the first of several and says nothing; its own answer to none has no body (server.ts). */
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

/** The connection ends with the answer: whether a body still comes on it is for the client to decide. */
function requireKnownExpectation({ req: { headers, httpVersion } }: Context): void {
  const { expect } = headers;
  if (expect === undefined || httpVersion !== '1.1' || expect.toLowerCase() === CONTINUE) return;
  const message = `invalid request: Expect: only ${CONTINUE} can be met`;
  throw new RequestError({ status: 417, errorCode: 'INVALID_REQUEST', message, headers: { Connection: 'close' } });
}

/**
 * `GET http://host/path`, as to a proxy: served as its path, whatever `Host` says, which counts for nothing beside it
 * (RFC 9112 §3.2.2) and for nothing here at all.
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

/** A request target that is no path, such as `http://[::1`, which Koa only notices when asked for the path. */
function requireReadableTarget(ctx: Context): void {
  try {
    void ctx.path;
  } catch (error) {
    ctx.req.url = '/';
    const message = 'invalid request: the request target is not a path';
    throw new RequestError({ status: 400, errorCode: 'INVALID_REQUEST', message }, { cause: error });
  }
}

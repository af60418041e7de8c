/**
 * The walk over all routes of a listener: for each route at least one success and every rejection that the OpenAPI
 * document promises, each real response checked against the document. A promised response that the walk did not see
 * is a failure, and so is a route without a successful request: neither can become outdated.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SMALL_BODY_BYTES } from '../../src/http/bodies/json-body.ts';
import { errorFormOf, isOfOpenAi } from '../../src/http/app/errors.ts';
import type { Route } from '../../src/http/app/route.ts';
import { errorCode } from './documented-api.ts';
import type { DocumentedApi } from './documented-api.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { send } from './route-requests.ts';
import type { Parts } from './route-requests.ts';

export interface WalkedListener {
  readonly url: string;
  /** The same application without its database. */
  readonly awayUrl: string;
  /** The same application where only HTTPS is accepted. */
  readonly httpsOnlyUrl: string;
  readonly routes: readonly Route[];
  readonly api: DocumentedApi;
  /**
   * The key that is accepted by every route that requires one, and one of the same form that is not accepted while
   * the database is unavailable.
   */
  readonly key: string;
  readonly awayKey: string;
  /** A request that succeeds, created anew each time. */
  requestOf(route: Route): Promise<Parts>;
  /** Responses in addition to that success, if a route has several; each with its status. By `operationId`. */
  readonly moreAnswers: Readonly<Record<string, () => Promise<readonly (readonly [Parts, number])[]>>>;
  /** Rejections of one route, by `<operationId> <status> <code>`. */
  readonly rejections: Readonly<Record<string, () => Promise<Parts & { readonly key?: string }>>>;
  /** Rejections of callers without permission or above the rate limit: each listener has its own. */
  assertCallersRejected(route: Route, parts: Parts): Promise<void>;
  /** Responses that the document promises and that cannot be caused from outside, in the format of `DocumentedApi`. */
  readonly unreachable: readonly string[];
  /** Writes what requests record asynchronously. */
  settle(): Promise<void>;
}

/** Spec §4.4.5. */
export const unauthorizedCode = ({ path }: Route): string =>
  errorFormOf(path) === 'text' ? 'permission_denied' : 'UNAUTHORIZED';
const isKeyed = (route: Route): boolean => route.access !== 'none';
/** The other routes ignore the query. */
const readsQuery = (route: Route): boolean => route.response.kind !== 'other' || route.query !== undefined;

/** Asserts an error and that the document contains it. */
export function expectError(api: DocumentedApi, route: Route, answer: RawAnswer, status: number, code: string): void {
  const context = `${route.operationId}: ${answer.text.slice(0, 300)}`;
  assert.equal(answer.status, status, context);
  assert.equal(errorCode(answer.text), code, context);
  api.check(route.operationId, answer);
}

/** Describes the tests of the walk. */
export function walk(listener: WalkedListener): void {
  for (const route of listener.routes) {
    describe(`${route.method} ${route.path}`, () => walkRoute(listener, route));
  }
  describe('every path', () => walkMethods(listener));
  describe('the document', () => {
    it('documents only what the walk has seen', () => {
      const { api, unreachable } = listener;
      const promised = api.promised().filter((answer) => !answer.endsWith('500 INTERNAL_ERROR'));
      const missed = promised.filter((answer) => !api.seen.has(answer) && !unreachable.includes(answer));
      assert.deepEqual(missed, []);
    });
  });
}

function walkRoute(listener: WalkedListener, route: Route): void {
  const { api, url } = listener;
  const { operationId } = route;
  const ownKey = isKeyed(route) ? listener.key : undefined;
  const promises = (answer: string): boolean => api.promised().includes(`${operationId} ${answer}`);
  const expect = (answer: RawAnswer, status: number, code: string): void =>
    expectError(api, route, answer, status, code);

  /** Sends with a key, if the route requires one, and checks the response. */
  async function ask(parts: Parts, key: string | undefined = ownKey): Promise<RawAnswer> {
    const answer = await send(url, route, parts, key);
    assert.notEqual(answer.status, 500, `${operationId} failed`);
    api.check(operationId, answer);
    assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    return answer;
  }

  // Proves S2.4-1, C0-11, C1-1.
  it('succeeds, and returns what the document describes', async () => {
    const answer = await ask(await listener.requestOf(route));
    assert.ok(answer.status < 300, `${answer.status} ${answer.text.slice(0, 500)}`);
    for (const [parts, status] of (await listener.moreAnswers[operationId]?.()) ?? []) {
      const other = await ask(parts);
      assert.equal(other.status, status, other.text.slice(0, 500));
    }
    if (!isKeyed(route) || route.access === 'operator') return;
    for (const name of ['limit', 'remaining', 'reset']) assert.ok(answer.headers[`x-ratelimit-${name}`]);
  });

  if (route.method === 'GET') {
    // Proves C0-2, C3-9, C3-18.
    it('answers HEAD as GET, without the body, and 304 to a client that has it', async () => {
      const parts = await listener.requestOf(route);
      // What the first request records (when its key was last used) must not change the response in between.
      await ask(parts);
      await listener.settle();
      const get = await ask(parts);
      const head = await send(url, route, parts, ownKey, 'HEAD');
      api.check(operationId, head, true);
      assert.deepEqual([head.status, head.text], [get.status, '']);
      const described = ['content-type', 'content-length', 'content-disposition', 'etag', 'accept-ranges'] as const;
      for (const name of described) assert.equal(head.headers[name], get.headers[name], name);
      // That of a signed URL counts its seconds down.
      const [cached, alsoCached] = [head, get].map((each) => each.headers['cache-control']?.replace(/\d+/, 'n'));
      assert.equal(cached, alsoCached);
      if (!promises('304')) return;
      const headers = { ...parts.headers, 'If-None-Match': String(get.headers['etag']) };
      const again = await ask({ ...parts, headers });
      assert.deepEqual([again.status, again.text], [304, '']);
    });
  }

  it('rejects an unknown query parameter, or ignores it if clients of OpenAI use the path', async () => {
    const parts = await listener.requestOf(route);
    const query = [parts.query, 'unknown_parameter=1'].filter(Boolean).join('&');
    if (readsQuery(route) && !isOfOpenAi(route.path)) {
      expect(await ask({ ...parts, query }), 400, 'INVALID_REQUEST');
    } else {
      assert.ok((await ask({ ...parts, query })).status < 300);
      // Routes that take any query reject requests that did not use HTTPS, if it is required.
      expect(await send(listener.httpsOnlyUrl, route, parts, undefined), 400, 'INVALID_REQUEST');
    }
    if (route.query === undefined) return;
    const long = { ...parts, query: `unknown_parameter=${'x'.repeat(9_000)}` };
    expect(await send(url, route, long, ownKey), 431, 'INVALID_REQUEST');
  });

  if (route.body !== undefined) {
    // Proves C1-16, C1-17, C1-18.
    it('rejects a body that is missing, broken, of another type, or too large', async () => {
      for (const [sent, status, code] of brokenBodies(route, await listener.requestOf(route))) {
        expect(await ask(sent), status, code);
      }
    });
  }

  if (isKeyed(route)) {
    // Proves S4-1, S4.1-4, S7-7, C1-2.
    it('rejects a missing key, a missing scope and too many requests', async () => {
      const parts = await listener.requestOf(route);
      for (const key of [undefined, 'nonsense', listener.awayKey]) {
        expect(await send(url, route, parts, key), 401, unauthorizedCode(route));
      }
      await listener.assertCallersRejected(route, parts);
    });
  }

  const unavailable = '503 SERVICE_UNAVAILABLE';
  if (promises(unavailable) && !listener.unreachable.includes(`${operationId} ${unavailable}`)) {
    // Proves C1-22.
    it('returns 503 while the database is down', async () => {
      const parts = await listener.requestOf(route);
      const key = route.access === 'operator' ? listener.key : listener.awayKey;
      expect(await send(listener.awayUrl, route, parts, isKeyed(route) ? key : undefined), 503, 'SERVICE_UNAVAILABLE');
    });
  }

  if (promises('404 NOT_FOUND') && listener.rejections[`${operationId} 404 NOT_FOUND`] === undefined) {
    it('returns 404 for an unknown id', async () => {
      const parts = await listener.requestOf(route);
      for (const [name, id] of Object.entries(parts.params ?? {})) {
        const params = { ...parts.params, [name]: unknown(id) };
        expect(await ask({ ...parts, params }), 404, 'NOT_FOUND');
      }
    });
  }

  for (const [rejection, make] of Object.entries(listener.rejections)) {
    const [of, status, code = ''] = rejection.split(' ');
    if (of !== operationId) continue;
    // Proves C1-15, C4-21, C9-14.
    it(`answers ${status} ${code}`, async () => {
      const { key, ...parts } = await make();
      expect(await ask(parts, key), Number(status), code);
    });
  }
}

/** An id of the same format that does not exist. */
function unknown(id: string): string {
  return `${id.slice(0, -4)}${id.endsWith('0000') ? '1111' : '0000'}`;
}

/** Malformed bodies, with the expected response. */
function brokenBodies({ body }: Route, parts: Parts): readonly (readonly [Parts, number, string])[] {
  const { body: _, ...bodiless } = parts;
  const json = { 'Content-Type': 'application/json' };
  const maxBytes = body?.kind === 'json' ? (body.maxBytes ?? SMALL_BODY_BYTES) : 100_000_000;
  const text: Parts = { ...bodiless, body: Buffer.from('some text'), headers: { 'Content-Type': 'text/plain' } };
  const large: Parts = { ...bodiless, headers: { ...json, 'Content-Length': String(maxBytes * 2) } };
  const always = [
    [text, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [large, 413, 'PAYLOAD_TOO_LARGE'],
  ] as const;
  if (body?.kind !== 'json') return [...always, [bodiless, 400, 'INVALID_REQUEST']];
  return [
    ...always,
    [{ ...bodiless, body: Buffer.from('{"model":'), headers: json }, 400, 'INVALID_REQUEST'],
    [{ ...bodiless, body: null }, 400, 'INVALID_REQUEST'],
    ...(body.isOptional === true ? [] : [[bodiless, 415, 'UNSUPPORTED_MEDIA_TYPE'] as const]),
  ];
}

function walkMethods({ routes, url }: WalkedListener): void {
  // Proves C1-13.
  it('returns 405 with Allow for an unsupported method, and the same for OPTIONS', async () => {
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
    for (const { path } of routes) {
      const concrete = path.replaceAll(/\{\w+(\.\.\.)?\}/g, 'x');
      // A literal path belongs to no pattern.
      const isWrittenOut = routes.some((route) => route.path === concrete);
      const taking = routes.filter((route) =>
        isWrittenOut ? route.path === concrete : patternOf(route.path).test(concrete),
      );
      const taken = taking.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
      const allowed = new Set([...taken, 'OPTIONS']);
      const options = await raw(url, 'OPTIONS', concrete);
      assert.equal(options.status, 204, path);
      for (const method of [...methods.filter((each) => !allowed.has(each)), 'TRACE', 'PROPFIND']) {
        const answer = await raw(url, method, concrete);
        assert.equal(answer.status, 405, `${method} ${path}`);
        for (const { headers } of [answer, options]) {
          assert.deepEqual(new Set(String(headers['allow']).split(', ')), allowed, `${method} ${path}`);
        }
      }
    }
  });
}

function patternOf(path: string): RegExp {
  const pattern = path.replaceAll('.json', '\\.json').replaceAll(/\{\w+\.\.\.\}/g, '.+');
  return new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

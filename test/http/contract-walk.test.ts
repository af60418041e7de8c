/**
 * A walk over every route of the listener against the served application: at least one success and every refusal that
 * the OpenAPI document promises, each real answer judged by the document. What the document promises and the walk did
 * not see fails, and so does a route without a request that shows it at work: neither can rot.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { SCOPES, newApiKey } from '../../src/accounts/api-key.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { createUrlSigner } from '../../src/files/signed-url.ts';
import { SMALL_BODY_BYTES } from '../../src/http/json-body.ts';
import { publicRoutes } from '../../src/http/public-routes.ts';
import type { Route } from '../../src/http/route.ts';
import { body } from '../tasks/task-room.ts';
import { DocumentedApi } from './documented-api.ts';
import { raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { doneTask, newTask, requestOf, send } from './route-requests.ts';
import type { Parts, World } from './route-requests.ts';
import { SIGNING_KEY, serveApp, unreachableDatabase } from './serve.ts';

const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(204).end());
});
await new Promise<void>((resolve) => {
  receiver.listen(0, '127.0.0.1', resolve);
});
const receiverPort = (receiver.address() as AddressInfo).port;
const environment = { EGRESS_ALLOW: `http://127.0.0.1:${receiverPort}`, TRUSTED_PROXIES: '127.0.0.0/8' };

const served = await serveApp({ environment });
const away = await serveApp({ environment, appDatabase: unreachableDatabase() });
const httpsOnly = await serveApp({ requiresHttps: true, environment: { TRUSTED_PROXIES: '10.0.0.0/8' } });
const world: World = { served, receiverUrl: `http://127.0.0.1:${receiverPort}/hook` };
const account = await served.newAccount();
const routes = publicRoutes(served.http);
const api = new DocumentedApi(JSON.parse((await raw(served.url, 'GET', '/openapi.json')).text) as object);

after(async () => {
  await served.close();
  await away.close();
  await httpsOnly.close();
  receiver.closeAllConnections();
  receiver.close();
});

const isKeyed = (route: Route): boolean => route.access !== 'none';
const needsScope = (route: Route): boolean => route.access !== 'none' && route.access !== 'any';
const readsQuery = (route: Route): boolean => route.answer.kind !== 'other' || route.query !== undefined;
const promises = (route: Route, answer: string): boolean => api.promised().includes(`${route.operationId} ${answer}`);

/** Sends with the account's key, and judges. */
async function ask(route: Route, parts: Parts, key: string | undefined = account.client.key): Promise<RawAnswer> {
  const answer = await send(served.url, route, parts, isKeyed(route) ? key : undefined);
  assert.notEqual(answer.status, 500, `${route.operationId} failed`);
  api.judge(route.operationId, answer);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  return answer;
}

/** Asserts an error and that the document knows it. */
function expectError(route: Route, answer: RawAnswer, status: number, code: string): void {
  const told = `${route.operationId}: ${answer.text.slice(0, 300)}`;
  assert.equal(answer.status, status, told);
  assert.equal((JSON.parse(answer.text) as { error_code: string }).error_code, code, told);
  api.judge(route.operationId, answer);
}

/** An id of the same form that names nothing. */
function unknown(id: string): string {
  return id === 'acme/pictures' ? 'acme/none' : `${id.slice(0, -4)}${id.endsWith('0000') ? '1111' : '0000'}`;
}

/** Answers beside the one that test/http/route-requests.ts brings about, where a route has several; each with its status. */
const MORE_ANSWERS: Readonly<Record<string, () => Promise<readonly (readonly [Parts, number])[]>>> = {
  createTask: async () => {
    const headers = { 'Idempotency-Key': 'the-walk' };
    const rich = body({ metadata: { a: 'b' }, callback: { url: 'https://example.com/', when: 'final' }, maxCost: '1' });
    return [
      [{ body: rich, headers }, 200],
      [{ body: rich, headers }, 200],
    ];
  },
  getTask: async () => {
    const queued = { taskId: await newTask(account) };
    return [
      [{ params: queued, query: 'include=input' }, 200],
      [{ params: queued, headers: { Prefer: 'wait=1' } }, 200],
    ];
  },
  listTasks: async () => [
    [{}, 200],
    [{ query: `ids=${newTaskId()}&created_after=0&size=1000` }, 200],
  ],
  getTaskEvents: async () => {
    const params = { taskId: await doneTask(world, account) };
    const headers = { Accept: 'text/event-stream' };
    return [
      [{ params, headers }, 200],
      [{ params, headers: { ...headers, 'Last-Event-ID': '1000' } }, 204],
    ];
  },
  listCallbackAttempts: async () => [[{ params: { taskId: await newTask(account) } }, 200]],
  downloadMedia: async () => {
    const { params } = await requestOf(routeOf('downloadMedia'), world, account);
    assert.ok(params);
    return [
      [{ params, headers: { Range: 'bytes=0-3' } }, 206],
      [{ params, headers: { Range: 'bytes=100000-' } }, 416],
      [{ params, headers: { 'If-Match': '"other"' } }, 412],
    ];
  },
  createKey: async () => [
    [{ body: { name: 'capped', scopes: ['tasks:read'], spendCaps: { day: '1' }, expiresAt: 0 } }, 200],
  ],
};

function routeOf(operationId: string): Route {
  const route = routes.find((each) => each.operationId === operationId);
  assert.ok(route, operationId);
  return route;
}

/** Media tokens that are not good, by what is answered. */
const strangers = createUrlSigner({ publicUrl: served.url, signingKey: 'x'.repeat(32), lifetimeSeconds: 60 });
const longAgo = createUrlSigner({ publicUrl: served.url, signingKey: SIGNING_KEY, lifetimeSeconds: 60, now: () => 0 });
const mediaParts = (url: string): Parts => {
  const [token = '', name = ''] = new URL(url).pathname.split('/').slice(2);
  return { params: { token, name } };
};
const noOutput = { outputId: 'out_none', fileName: 'x.png' };

/** Refusals that belong to one route, by `<operationId> <status> <code>`. */
const SPECIAL_REFUSALS: Readonly<Record<string, () => Promise<Parts & { readonly key?: string }>>> = {
  'createTask 400 MODEL_UNAVAILABLE': async () => ({ body: body({ model: 'acme/none' }) }),
  'estimateTask 400 MODEL_UNAVAILABLE': async () => ({ body: body({ model: 'acme/none' }) }),
  'createTask 402 INSUFFICIENT_BALANCE': async () => {
    const poor = await served.newAccount({ microUsd: 1n });
    return { body: body(), key: poor.client.key };
  },
  'createTask 422 IDEMPOTENCY_KEY_MISMATCH': async () => {
    await account.client.create(body(), 'twice');
    return { body: body({ metadata: { other: 'body' } }), headers: { 'Idempotency-Key': 'twice' } };
  },
  'downloadMedia 403 URL_EXPIRED': async () => mediaParts(longAgo.sign(noOutput).url),
  'downloadMedia 403 FORBIDDEN': async () => mediaParts(strangers.sign(noOutput).url),
  'downloadMedia 404 NOT_FOUND': async () => mediaParts(served.http.urlSigner.sign(noOutput).url),
  'getReferenceFile 404 NOT_FOUND': async () => ({ params: { file: 'package.json' } }),
};

for (const route of routes) {
  const { operationId } = route;
  describe(`${route.method} ${route.path}`, () => {
    it('succeeds, and answers as the document says', async () => {
      const answer = await ask(route, await requestOf(route, world, account));
      assert.ok(answer.status < 300, `${answer.status} ${answer.text.slice(0, 500)}`);
      for (const [parts, status] of (await MORE_ANSWERS[operationId]?.()) ?? []) {
        const other = await ask(route, parts);
        assert.equal(other.status, status, other.text.slice(0, 500));
      }
      if (!isKeyed(route)) return;
      for (const name of ['limit', 'remaining', 'reset']) assert.ok(answer.headers[`x-ratelimit-${name}`]);
    });

    if (route.method === 'GET') {
      it('answers HEAD as GET, without the body, and 304 to whoever has it already', async () => {
        const parts = await requestOf(route, world, account);
        const key = isKeyed(route) ? account.client.key : undefined;
        const get = await ask(route, parts);
        const head = await send(served.url, route, parts, key, 'HEAD');
        api.judge(operationId, head, true);
        assert.deepEqual([head.status, head.text], [get.status, '']);
        for (const name of ['content-type', 'content-length', 'etag', 'cache-control'] as const) {
          assert.equal(head.headers[name], get.headers[name], name);
        }
        if (!promises(route, '304')) return;
        const headers = { ...parts.headers, 'If-None-Match': String(get.headers['etag']) };
        const again = await ask(route, { ...parts, headers });
        assert.deepEqual([again.status, again.text], [304, '']);
      });
    }

    it('refuses a query parameter that it does not know', async () => {
      const parts = await requestOf(route, world, account);
      const query = [parts.query, 'unknown_parameter=1'].filter(Boolean).join('&');
      if (readsQuery(route)) {
        expectError(route, await ask(route, { ...parts, query }), 400, 'INVALID_REQUEST');
      } else {
        assert.ok((await ask(route, { ...parts, query })).status < 300);
        // What reads no query refuses what did not come by HTTPS, where that is asked for.
        expectError(route, await send(httpsOnly.url, route, parts, undefined), 400, 'INVALID_REQUEST');
      }
      if (route.query === undefined) return;
      const long = { ...parts, query: `unknown_parameter=${'x'.repeat(9_000)}` };
      expectError(route, await send(served.url, route, long, account.client.key), 431, 'INVALID_REQUEST');
    });

    if (route.body !== undefined) {
      it('refuses a body that is missing, broken, of another type, or too large', async () => {
        const parts = await requestOf(route, world, account);
        const { body: _, ...bodiless } = parts;
        const json = { 'Content-Type': 'application/json' };
        const maxBytes = route.body?.kind === 'json' ? (route.body.maxBytes ?? SMALL_BODY_BYTES) : 100_000_000;
        const cases: [Parts, number, string][] = [
          [{ ...bodiless, body: Buffer.from('some text'), headers: { 'Content-Type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
          [{ ...bodiless, headers: { ...json, 'Content-Length': String(maxBytes * 2) } }, 413, 'PAYLOAD_TOO_LARGE'],
        ];
        if (route.body?.kind === 'json') {
          cases.push([{ ...bodiless, body: Buffer.from('{"model":'), headers: json }, 400, 'INVALID_REQUEST']);
          cases.push([{ ...bodiless, body: null }, 400, 'INVALID_REQUEST']);
          if (route.body.isOptional !== true) cases.push([bodiless, 415, 'UNSUPPORTED_MEDIA_TYPE']);
        } else {
          cases.push([bodiless, 400, 'INVALID_REQUEST']);
        }
        for (const [sent, status, code] of cases) expectError(route, await ask(route, sent), status, code);
      });
    }

    if (isKeyed(route)) {
      it('refuses whoever has no key, or may not, or comes too often', async () => {
        const parts = await requestOf(route, world, account);
        for (const key of [undefined, 'nonsense', newApiKey().text]) {
          expectError(route, await send(served.url, route, parts, key), 401, 'UNAUTHORIZED');
        }
        const suspended = await served.newAccount();
        await setSuspended(served.room.database, suspended.id, true);
        expectError(route, await ask(route, parts, suspended.client.key), 403, 'ACCOUNT_SUSPENDED');
        if (needsScope(route)) {
          const others = await account.newKey({ scopes: SCOPES.filter((scope) => scope !== route.access) });
          expectError(route, await ask(route, parts, others.client.key), 403, 'FORBIDDEN');
        }
        const slow = await served.newAccount({ createsPerMinute: 1, readsPerMinute: 1 });
        await ask(route, parts, slow.client.key);
        const limited = await ask(route, parts, slow.client.key);
        expectError(route, limited, 429, 'RATE_LIMITED');
        assert.equal(limited.headers['x-ratelimit-remaining'], '0');
      });
    }

    if (promises(route, '503 SERVICE_UNAVAILABLE')) {
      it('says so while the database is away', async () => {
        const parts = await requestOf(route, world, account);
        const key = isKeyed(route) ? newApiKey().text : undefined;
        expectError(route, await send(away.url, route, parts, key), 503, 'SERVICE_UNAVAILABLE');
      });
    }

    if (promises(route, '404 NOT_FOUND') && SPECIAL_REFUSALS[`${operationId} 404 NOT_FOUND`] === undefined) {
      it('does not know an id that there is not', async () => {
        const parts = await requestOf(route, world, account);
        for (const [name, id] of Object.entries(parts.params ?? {})) {
          const params = { ...parts.params, [name]: unknown(id) };
          expectError(route, await ask(route, { ...parts, params }), 404, 'NOT_FOUND');
        }
      });
    }

    for (const [refusal, make] of Object.entries(SPECIAL_REFUSALS)) {
      const [of, status, code = ''] = refusal.split(' ');
      if (of !== operationId) continue;
      it(`answers ${status} ${code}`, async () => {
        const { key, ...parts } = await make();
        expectError(route, await ask(route, parts, key), Number(status), code);
      });
    }
  });
}

describe('a process that is not ready', () => {
  it('says of what', async () => {
    const route = routeOf('getReadiness');
    const answer = await send(away.url, route, {}, undefined);
    api.judge(route.operationId, answer);
    assert.deepEqual([answer.status, (JSON.parse(answer.text) as { database: boolean }).database], [503, false]);
  });
});

describe('every path', () => {
  it('answers 405 with Allow to a method that it does not take, and OPTIONS with the same', async () => {
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
    for (const { path } of routes) {
      const concrete = path.replaceAll(/\{\w+(\.\.\.)?\}/g, 'x');
      const allowed = new Set(
        routes
          .filter((route) => patternOf(route.path).test(concrete))
          .flatMap((route) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method])),
      );
      const options = await raw(served.url, 'OPTIONS', concrete);
      assert.equal(options.status, 204, path);
      for (const method of [...methods.filter((each) => !allowed.has(each)), 'TRACE', 'PROPFIND']) {
        const answer = await raw(served.url, method, concrete);
        assert.equal(answer.status, 405, `${method} ${path}`);
        for (const { headers } of [answer, options]) {
          assert.deepEqual(new Set(String(headers['allow']).split(', ')), allowed, `${method} ${path}`);
        }
      }
    }
  });
});

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.json', '\\.json').replaceAll(/\{\w+\.\.\.\}/g, '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

describe('the document', () => {
  it('promises nothing that the walk has not seen', async () => {
    // The one thing that nobody can bring about from outside.
    const promised = api.promised().filter((answer) => !answer.endsWith('500 INTERNAL_ERROR'));
    assert.deepEqual(promised.filter((answer) => !api.seen.has(answer)), []);
  });
});

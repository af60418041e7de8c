/** `Allow`: the methods of a path, and none of another path (RFC 9110 §10.2.1). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { publicRoutes } from '../../src/http/app/routes.ts';
import { raw } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

let served: ServedApp;
let headers: Record<string, string>;
before(async () => {
  served = await serveApp();
  headers = { Authorization: `Bearer ${(await served.newAccount()).client.key}` };
});
after(() => served.close());

async function allowed(path: string): Promise<string> {
  const answer = await raw(served.url, 'OPTIONS', path);
  assert.equal(answer.status, 204, path);
  return String(answer.headers['allow']);
}

describe('Allow', () => {
  it('lists what a path takes and not what a pattern beside it takes', async () => {
    assert.equal(await allowed('/v1/tasks/estimate'), 'POST, OPTIONS');
    assert.equal(await allowed('/v1/storages/promote'), 'POST, OPTIONS');
    assert.equal(await allowed('/v1/storages/delete'), 'POST, OPTIONS');
    assert.equal(await allowed('/v1/storages/out_x'), 'DELETE, OPTIONS');
    assert.equal(await allowed('/v1/responses/resp_x'), 'GET, HEAD, DELETE, OPTIONS');
    assert.equal(await allowed('/v1/account/webhook-key'), 'GET, HEAD, PUT, DELETE, OPTIONS');
    for (const [method, path] of [
      ['GET', '/v1/tasks/estimate'],
      ['DELETE', '/v1/storages/promote'],
    ] as const) {
      const answer = await raw(served.url, method, path, headers);
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'POST, OPTIONS'], path);
    }
  });

  it('is there for the dashboard’s own pages', async () => {
    for (const path of ['/', '/tasks', '/tasks/tk-svc-x', '/models']) {
      assert.equal(await allowed(path), 'GET, HEAD, OPTIONS', path);
      const answer = await raw(served.url, 'POST', path);
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD, OPTIONS'], path);
    }
  });

  // Proves C1-13.
  it('names exactly the methods that are not answered with 405, of every path', async () => {
    for (const path of new Set(publicRoutes(served.http).map((route) => route.path))) {
      const concrete = path.replaceAll(/\{\w+(\.\.\.)?\}/g, 'x');
      const taken: string[] = [];
      for (const method of METHODS) {
        const { status } = await raw(served.url, method, concrete);
        if (status !== 405) taken.push(method);
      }
      assert.equal(await allowed(concrete), taken.join(', '), path);
    }
  });
});

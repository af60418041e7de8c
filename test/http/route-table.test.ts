/** What the table of routes says about each operation: its id, who may call it, and whether it changes anything. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adminRoutes, publicRoutes } from '../../src/http/app/routes.ts';
import type { Route } from '../../src/http/app/route.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

describe('the table of routes', () => {
  let served: ServedApp;
  let listeners: readonly (readonly Route[])[];
  let routes: readonly Route[];
  before(async () => {
    served = await serveApp();
    listeners = [publicRoutes(served.http), adminRoutes(served.http)];
    routes = listeners.flat();
  });
  after(() => served.close());

  it('names every operation of a listener once', () => {
    for (const listener of listeners) {
      const ids = listener.map(({ operationId }) => operationId);

      assert.deepEqual(
        ids.filter((id, index) => ids.indexOf(id) !== index),
        [],
      );
    }
  });

  it('marks every operation that changes state: only these requests other than GET do not', () => {
    const unchanging = routes.filter(({ method, changesState }) => method !== 'GET' && !changesState);

    assert.deepEqual(unchanging.map(({ operationId }) => operationId).toSorted(), ['callMcp', 'estimateTask']);
    assert.deepEqual(
      routes.filter(({ method, changesState }) => method === 'GET' && changesState),
      [],
    );
  });

  it('lets no read scope change anything', () => {
    const readers = routes.filter(({ access }) => access.endsWith(':read'));

    assert.ok(readers.length > 5);
    assert.deepEqual(
      readers.filter(({ changesState }) => changesState).map(({ operationId }) => operationId),
      [],
    );
  });
});

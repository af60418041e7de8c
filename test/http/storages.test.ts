/** Promoting and deleting over `/v1/storages`, and invalid requests (contract §5). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { finishPromotion } from '../../src/tasks/lifecycle/storage-operations.ts';
import type { ServedAccount, ServedApp } from './serve.ts';
import { decisionOf, listStored, serveWithClock, storeOutput } from './stored-outputs.ts';
import type { AppWithClock } from './stored-outputs.ts';

const DAY_MS = 86_400_000;

let app: AppWithClock;
let served: ServedApp;
before(async () => {
  app = await serveWithClock();
  ({ served } = app);
});
after(() => served.close());

describe('promoting over HTTP', () => {
  // Proves S2.6-3, S4.3-1, C5-3, C5-5.
  it('returns immediately, wakes the launcher, and shows as pending, then as persistent without expiry', async () => {
    const account = await served.newAccount();
    const { taskId, id } = await storeOutput(served, account);
    const wakes = served.notified.wakes;

    const answer = await account.client.send('POST', '/v1/storages/promote', [id]);

    assert.deepEqual(decisionOf(answer), { accepted: [id], rejected: [] });
    assert.equal(served.notified.wakes, wakes + 1);
    const [pending] = (await listStored(account)).items;
    assert.deepEqual([pending?.status, pending?.storage_tier], ['pending', 'temp']);
    assert.equal((await fetch(pending?.url ?? '')).status, 200);

    await finishPromotion(served.room.database, id, Date.now(), () => Promise.resolve(true));
    const [item] = (await listStored(account)).items;
    assert.deepEqual([item?.status, item?.storage_tier, item?.retainUntil], ['available', 'persistent', 0]);
    const [output] = (await account.client.get(taskId)).body.data.output as unknown as Record<string, unknown>[];
    assert.deepEqual([output?.['storage'], output?.['retainUntil']], ['persistent', 0]);
    await app.later(400 * DAY_MS, async () => assert.equal((await listStored(account)).total, 1));
  });

  it('does not wake the launcher when nothing changes', async () => {
    const account = await served.newAccount();
    const wakes = served.notified.wakes;

    const answer = await account.client.send('POST', '/v1/storages/promote', ['out_none']);

    assert.deepEqual(decisionOf(answer), { accepted: [], rejected: [{ id: 'out_none', reason: 'not_owned' }] });
    assert.equal(served.notified.wakes, wakes);
  });
});

describe('deleting over HTTP', () => {
  for (const [how, request] of [
    ['DELETE with a body', (account: ServedAccount, id: string) => account.client.send('DELETE', '/v1/storages', [id])],
    ['POST', (account: ServedAccount, id: string) => account.client.send('POST', '/v1/storages/delete', [id])],
    ['DELETE of one', (account: ServedAccount, id: string) => account.client.send('DELETE', `/v1/storages/${id}`)],
  ] as const) {
    // Proves S2.6-3, C5-12, C5-13.
    it(`by ${how} invalidates every URL immediately, keeps the task, and reports it a second time`, async () => {
      const account = await served.newAccount();
      const { taskId, id } = await storeOutput(served, account);
      const [item] = (await listStored(account)).items;

      assert.deepEqual(decisionOf(await request(account, id)), { accepted: [id], rejected: [] });
      assert.deepEqual(decisionOf(await request(account, id)), {
        accepted: [],
        rejected: [{ id, reason: 'already_deleted' }],
      });

      assert.equal((await fetch(item?.url ?? '')).status, 404);
      const task = (await account.client.get(taskId)).body.data as unknown as Record<string, unknown>;
      assert.equal(task['status'], 'success');
      assert.deepEqual(task['output'], []);
      assert.equal((task['outputGone'] as { reason: string }[])[0]?.reason, 'deleted');
      assert.equal((await listStored(account)).total, 0);
    });
  }

  it('lets a download that has begun finish', async () => {
    const account = await served.newAccount();
    // More than the sockets between us buffer.
    const bytes = randomBytes(24_000_000);
    const { taskId, id } = await storeOutput(served, account, bytes);
    const [item] = (await listStored(account)).items;
    const response = await fetch(item?.url ?? '');
    const reader = response.body?.getReader();
    const first = await reader?.read();

    await account.client.send('DELETE', `/v1/storages/${id}`);
    await served.store.delete(`outputs/${taskId}/1`);

    const hash = createHash('sha256').update(first?.value ?? '');
    for (;;) {
      const next = await reader?.read();
      if (next === undefined || next.done) break;
      hash.update(next.value);
    }
    assert.equal(hash.digest('hex'), createHash('sha256').update(bytes).digest('hex'));
    assert.equal((await fetch(item?.url ?? '')).status, 404);
  });

  it('returns not_owned for an invalid id in the path', async () => {
    const account = await served.newAccount();
    for (const [sent, id] of [
      ['a%20b', 'a b'],
      ['%00', '\0'],
      ['x'.repeat(200), 'x'.repeat(200)],
      ['%2e%2e%2fadmin', '../admin'],
      ['__proto__', '__proto__'],
    ] as const) {
      const answer = await account.client.send('DELETE', `/v1/storages/${sent}`);
      assert.deepEqual(decisionOf(answer), { accepted: [], rejected: [{ id, reason: 'not_owned' }] }, sent);
    }
  });
});

describe('the body of ids', () => {
  const ids = Array.from({ length: 51 }, (_, index) => `out_${index}`);
  const ROUTES = [
    ['POST', '/v1/storages/promote'],
    ['POST', '/v1/storages/delete'],
    ['DELETE', '/v1/storages'],
  ] as const;

  for (const [method, path] of ROUTES) {
    for (const [what, sent, status] of [
      ['absent', undefined, 415],
      ['null', null, 400],
      ['an object', { ids: ['out_1'] }, 400],
      ['a text', '"out_1"', 400],
      ['empty', [], 400],
      ['too long', ids, 400],
      ['of numbers', [1], 400],
      ['of nulls', [null], 400],
      ['of arrays', [['out_1']], 400],
      ['with an empty id', [''], 400],
      ['with an id that is too long', ['x'.repeat(65)], 400],
      ['with a NUL', ['out_\0'], 400],
      ['with half of a surrogate pair', ['out_\ud800'], 400],
      ['with a line end behind the id', ['out_1\n'], 400],
      ['broken JSON', '["out_1"', 400],
      ['over 256 kB', ['x'.repeat(300_000)], 413],
    ] as const) {
      // Proves C5-5.
      it(`of ${method} ${path} is rejected with ${status} when it is ${what}`, async () => {
        const answer = await (await served.newAccount()).client.send(method, path, sent);
        assert.equal(answer.status, status, JSON.stringify(answer.body));
      });
    }

    // Proves C5-5.
    it(`of ${method} ${path} may hold 50 ids, and the same one 50 times`, async () => {
      const account = await served.newAccount();
      const fifty = decisionOf(await account.client.send(method, path, ids.slice(0, 50)));
      assert.equal(fifty.rejected.length, 50);
      const same = Array.from({ length: 50 }, () => '__proto__');
      assert.deepEqual(decisionOf(await account.client.send(method, path, same)), {
        accepted: [],
        rejected: [{ id: '__proto__', reason: 'not_owned' }],
      });
    });
  }
});

describe('a key without the scope', () => {
  it('neither lists, nor promotes, nor deletes', async () => {
    const account = await served.newAccount();
    const { id } = await storeOutput(served, account);
    const reader = (await account.newKey({ scopes: ['storage:read'] })).client;
    const other = (await account.newKey({ scopes: ['tasks:read', 'tasks:write', 'storage:write'] })).client;

    assert.equal((await reader.send('GET', '/v1/storages')).status, 200);
    assert.equal((await other.send('GET', '/v1/storages')).status, 403);
    for (const [method, path, sent] of [
      ['POST', '/v1/storages/promote', [id]],
      ['POST', '/v1/storages/delete', [id]],
      ['DELETE', '/v1/storages', [id]],
      ['DELETE', `/v1/storages/${id}`, undefined],
    ] as const) {
      assert.equal((await reader.send(method, path, sent)).status, 403, `${method} ${path}`);
    }
    assert.equal((await listStored(account)).items[0]?.status, 'available');
  });
});

/**
 * Stored outputs (contract §5): the list with its filters and pages, the cap of an account, promoting and deleting
 * over `/v1/storages`, and invalid requests.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { finishPromotion } from '../../src/tasks/lifecycle/storage-operations.ts';
import type { ApiTask } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
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

describe('the list of stored outputs', () => {
  // Proves S2.6-3, S8-2, C5-1.
  it('returns all fields of an output, with a URL that works', async () => {
    const account = await served.newAccount();
    const bytes = randomBytes(1_234);
    const { taskId, id } = await storeOutput(served, account, bytes);

    const { items, ...rest } = await listStored(account);

    assert.deepEqual(rest, { page: 1, size: 10, total: 1 });
    const [item] = items;
    assert.ok(item);
    const { url, expireAt, created, retainUntil, ...facts } = item;
    assert.deepEqual(facts, {
      id,
      taskId,
      model: 'acme/images',
      type: 'image',
      mimeType: 'image/png',
      size: 1_234,
      storage_tier: 'temp',
      status: 'available',
    });
    assert.equal(retainUntil, created + 7 * 86_400);
    assert.ok(expireAt > Date.now() / 1000);
    assert.match(url, new RegExp(`/${taskId}-1\\.png$`));
    const download = Buffer.from(await (await fetch(url)).arrayBuffer());
    assert.equal(createHash('sha256').update(download).digest('hex'), createHash('sha256').update(bytes).digest('hex'));
  });

  it('hides what belongs to another account', async () => {
    const { taskId } = await storeOutput(served, await served.newAccount());
    const stranger = await served.newAccount();

    assert.deepEqual(await listStored(stranger), { page: 1, size: 10, total: 0, items: [] });
    assert.equal((await listStored(stranger, `?taskId=${taskId}`)).total, 0);
  });

  // Proves C5-1.
  it('is in pages, newest first, each output on one of them', async () => {
    const account = await served.newAccount();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.unshift((await storeOutput(served, account)).id);

    const pages = [];
    for (const page of [1, 2, 3, 4]) pages.push(await listStored(account, `?page=${page}&size=2`));

    assert.deepEqual(
      pages.map(({ items }) => items.length),
      [2, 2, 1, 0],
    );
    assert.deepEqual(
      pages.flatMap(({ items }) => items).map(({ id }) => id),
      ids,
    );
    for (const { total } of pages) assert.equal(total, 5);
  });

  it('clamps a page and a size that are out of range', async () => {
    const account = await served.newAccount();
    await storeOutput(served, account);
    for (const [query, page, size] of [
      ['?page=0&size=0', 1, 1],
      ['?page=-7&size=101', 1, 100],
      ['?size=99999999999999999999', 1, 100],
      ['?page=%2B2&size=5', 2, 5],
    ] as const) {
      const answer = await listStored(account, query);
      assert.deepEqual([answer.page, answer.size, answer.total], [page, size, 1], query);
    }
  });

  it('rejects pages beyond the first 10,000 rows, and names the alternative', async () => {
    const account = await served.newAccount();
    for (const query of ['?page=10001&size=1', '?page=101&size=100', `?page=${'9'.repeat(300)}`]) {
      const { status, body } = await account.client.send('GET', `/v1/storages${query}`);
      assert.equal(status, 400, query);
      assert.match(body.message, /^invalid request: page: only the first 10000 rows .* narrow the list/);
    }
    assert.equal((await listStored(account, '?page=10000&size=1')).items.length, 0);
  });

  it('counts exactly up to 10,000 and reports when there are more', async () => {
    const account = await served.newAccount();
    const { taskId } = await storeOutput(served, account);
    const fill = (from: number, to: number): Promise<unknown> =>
      served.room.rows(
        `INSERT INTO outputs (id, task_id, account_id, model, position, type, object_key, mime_type, size_bytes, sha256,
                              storage_tier, retain_until)
         SELECT concat('out_', $1::text, n), $1, $2, 'acme/images', n, 'video', concat('outputs/', $1::text, n),
                'video/mp4', 1, '', 'temp', now() + interval '7 days'
           FROM generate_series($3::integer, $4::integer) n`,
        taskId,
        account.id,
        from,
        to,
      );
    await fill(1, 9_999);
    const full = await listStored(account);
    assert.deepEqual([full.total, full.totalIsCapped], [10_000, undefined]);
    await fill(10_000, 10_000);

    const capped = await listStored(account);
    assert.deepEqual([capped.total, capped.totalIsCapped], [10_000, true]);
    const images = await listStored(account, '?type=image');
    assert.deepEqual([images.total, images.totalIsCapped], [1, undefined]);
  });

  // Proves S4.3-1, C5-2, C5-4.
  it('can be filtered by tier, task, type and status, alone and together', async () => {
    const account = await served.newAccount();
    const temp = await storeOutput(served, account);
    const persistent = await storeOutput(served, account);
    const pending = await storeOutput(served, account);
    const deleted = await storeOutput(served, account);
    await account.client.send('POST', '/v1/storages/promote', [persistent.id, pending.id]);
    await finishPromotion(served.room.database, persistent.id, Date.now(), () => Promise.resolve(true));
    await account.client.send('DELETE', `/v1/storages/${deleted.id}`);
    await served.room.rows(`UPDATE outputs SET type = 'video' WHERE id = $1`, temp.id);

    for (const [query, ...expected] of [
      ['', pending, persistent, temp],
      ['?status=available', persistent, temp],
      ['?status=pending', pending],
      ['?status=deleted', deleted],
      ['?storage_tier=persistent', persistent],
      ['?storage_tier=temp', pending, temp],
      ['?storage_tier=temp&status=deleted', deleted],
      ['?type=video', temp],
      ['?type=first_frame'],
      [`?taskId=${pending.taskId}`, pending],
      [`?taskId=${deleted.taskId}`],
      [`?taskId=${deleted.taskId}&status=deleted&type=image&storage_tier=temp`, deleted],
      ['?taskId=tk-svc-00000000000000000000000000'],
    ] as const) {
      const { items, total } = await listStored(account, query);
      assert.deepEqual(
        items.map(({ id }) => id),
        expected.map(({ id }) => id),
        query,
      );
      assert.equal(total, expected.length);
    }
  });

  // Proves S2.6-1, C3-13.
  it('shows an output as deleted from the end of its retention, without a URL, as its task does', async () => {
    const account = await served.newAccount();
    const { taskId, id } = await storeOutput(served, account);
    const [item] = (await listStored(account)).items;
    const end = (item?.retainUntil ?? 0) * 1000;

    await app.at(end - 1, async () => {
      assert.equal((await listStored(account)).total, 1);
      assert.equal((await account.client.get(taskId)).body.data.output?.length, 1);
    });
    await app.at(end, async () => {
      assert.equal((await listStored(account)).total, 0);
      const [gone] = (await listStored(account, '?status=deleted')).items;
      assert.deepEqual([gone?.id, gone?.status, gone?.url, gone?.expireAt], [id, 'deleted', '', 0]);
      assert.deepEqual((await account.client.get(taskId)).body.data.output, []);
    });
  });

  for (const [query, message] of [
    ['?page=1.5', 'invalid request: page: type: got string, want integer'],
    ['?page=', 'invalid request: page: type: got string, want integer'],
    ['?page=NaN', 'invalid request: page: type: got string, want integer'],
    ['?size=1e1', 'invalid request: size: type: got string, want integer'],
    ['?page=1&page=2', 'invalid request: page: given more than once'],
    ['?storage_tier=', 'invalid request: storage_tier: enum: got "", want one of "temp", "persistent"'],
    ['?storage_tier=TEMP', 'invalid request: storage_tier: enum: got "TEMP", want one of "temp", "persistent"'],
    ['?status=gone', 'invalid request: status: enum: got "gone", want one of "available", "pending", "deleted"'],
    ['?cursor=x', 'additional properties not allowed: cursor'],
    ['?__proto__=x', 'additional properties not allowed: __proto__'],
    ['?storageTier=temp', 'additional properties not allowed: storageTier'],
  ] as const) {
    it(`rejects ${query}, naming what is wrong`, async () => {
      const { status, body } = await (await served.newAccount()).client.send('GET', `/v1/storages${query}`);
      assert.deepEqual([status, body.error_code, body.message], [400, 'INVALID_REQUEST', message]);
    });
  }

  for (const query of ['?taskId=%00', '?taskId=', '?type=%00', '?type=a%20b', `?type=${'x'.repeat(33)}`, '?taskId=é']) {
    it(`rejects ${query.slice(0, 30)}, which matches nothing`, async () => {
      const { status, body } = await (await served.newAccount()).client.send('GET', `/v1/storages${query}`);
      assert.equal(status, 400);
      assert.match(body.message, /^invalid request: (taskId|type): pattern: got /);
    });
  }
});

interface KeptTask extends ApiTask {
  readonly storage: string;
}

async function create({ client }: ServedAccount): Promise<string> {
  const { status, body: created } = await client.create(body({ storage: 'persistent' }));
  assert.equal(status, 200, JSON.stringify(created));
  return created.data.taskId;
}

/** How a task and its one output are stored, once it has succeeded with the given number of bytes. */
async function keptAs({ client }: ServedAccount, taskId: string, sizeBytes: number): Promise<unknown[]> {
  await served.succeed(taskId, Buffer.alloc(sizeBytes, 1));
  const task = (await client.get(taskId)).body.data as KeptTask;
  const [output] = (task.output ?? []) as unknown as { storage: string; retainUntil: number }[];
  assert.ok(output);
  const keptDays = output.retainUntil === 0 ? 0 : (output.retainUntil - task.completed) / 86_400;
  return [task.status, task.storage, output.storage, keptDays];
}

describe('persistent outputs of a task', () => {
  // Proves C5-17.
  it('fall back to temp over the cap, retained for 7 days, and the task shows that in its detail and its timeline', async () => {
    const account = await served.newAccount({ storageCapBytes: 10 });
    const taskId = await create(account);

    assert.deepEqual(await keptAs(account, taskId, 11), ['success', 'temp', 'temp', 7]);

    const { body: answer } = await account.client.send('GET', `/v1/tasks/${taskId}/events`);
    const { events } = answer.data as unknown as { events: { type: string; detail: unknown }[] };
    assert.deepEqual(
      events.filter(({ type }) => type === 'storage_fell_back').map(({ detail }) => detail),
      [{ storage: 'temp', reason: 'cap_exceeded' }],
    );
  });

  it('stay persistent up to the last byte of the cap', async () => {
    const account = await served.newAccount({ storageCapBytes: 10 });

    assert.deepEqual(await keptAs(account, await create(account), 10), ['success', 'persistent', 'persistent', 0]);
  });

  // Proves C5-17.
  it('are checked when they are archived, not when the task was created', async () => {
    const account = await served.newAccount({ storageCapBytes: 10 });
    const [first, second, third] = [await create(account), await create(account), await create(account)];

    assert.deepEqual((await keptAs(account, second, 8)).slice(1, 3), ['persistent', 'persistent']);
    assert.deepEqual((await keptAs(account, first, 8)).slice(1, 3), ['temp', 'temp']);
    const { body: answer } = await account.client.send('GET', '/v1/storages?storage_tier=persistent');
    const [kept] = (answer.data as unknown as { items: { id: string }[] }).items;
    await account.client.send('DELETE', `/v1/storages/${kept?.id}`);
    assert.deepEqual((await keptAs(account, third, 8)).slice(1, 3), ['persistent', 'persistent']);
  });
});

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
    for (const [what, sent] of [
      ['an object', { ids: ['out_1'] }],
      ['a text', '"out_1"'],
      ['empty', []],
      ['too long', ids],
      ['of numbers', [1]],
      ['of nulls', [null]],
      ['of arrays', [['out_1']]],
      ['with an empty id', ['']],
      ['with an id that is too long', ['x'.repeat(65)]],
      ['with a NUL', ['out_\0']],
      ['with half of a surrogate pair', ['out_\ud800']],
      ['with a line end behind the id', ['out_1\n']],
    ] as const) {
      // Proves C5-5.
      it(`of ${method} ${path} is rejected when it is ${what}`, async () => {
        const answer = await (await served.newAccount()).client.send(method, path, sent);
        assert.equal(answer.status, 400, JSON.stringify(answer.body));
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

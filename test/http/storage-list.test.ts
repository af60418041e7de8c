/** `GET /v1/storages`: the list of stored outputs with its filters and pages (contract §5). */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { finishPromotion } from '../../src/tasks/lifecycle/storage-operations.ts';
import { raw } from './raw-request.ts';
import type { ServedApp } from './serve.ts';
import { listStored, serveWithClock, storeOutput } from './stored-outputs.ts';
import type { AppWithClock } from './stored-outputs.ts';

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

  it('is the same response while nothing changes: 304 by its entity tag', async () => {
    const account = await served.newAccount();
    await storeOutput(served, account);
    const headers = { Authorization: `Bearer ${account.client.key}` };
    const first = await raw(served.url, 'GET', '/v1/storages', headers);
    const known = { ...headers, 'If-None-Match': first.headers.etag ?? '' };
    const again = await raw(served.url, 'GET', '/v1/storages', known);

    assert.equal(again.status, 304);
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

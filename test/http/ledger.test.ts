/** `GET /v1/account/ledger`: entries with the balance after them, by page and by filter. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adjust, topUp } from '../../src/billing/ledger.ts';
import { formatUsd } from '../../src/domain/money.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import type { WireAccount } from '@darkroom/api/tasks/account';
import type { WireLedger } from '@darkroom/api/tasks/ledger';
import type { ApiClient } from '../support/api-client.ts';
import { created, get } from './account-client.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

const ledger = async (client: ApiClient, query = ''): Promise<WireLedger> =>
  (await get<WireLedger>(client, `/v1/account/ledger?${query}`)).data;

describe('the ledger', () => {
  // Proves C7-21, C7-41.
  it('lists every entry with its effect and the balance after it, newest first', async () => {
    const account = await served.newAccount({ microUsd: 0n });
    const { database } = served.room;
    await database.transaction(async (transaction) => {
      await topUp(transaction, account.id, 1_000_000n, `${account.id} in`);
      await adjust(transaction, account.id, -100_000n, `${account.id} correction`);
    });
    const { client, id: keyId } = await account.newKey();
    const [done, cancelled] = [await created(client), await created(client)];
    await cancelTask(database, account.id, cancelled as TaskId, 7);
    await served.succeed(done, Buffer.from('bytes'));

    const { entries, size, nextCursor } = await ledger(client);

    assert.deepEqual([size, nextCursor], [20, undefined]);
    const rows = entries.map((entry) => [
      entry.id,
      entry.amount,
      entry.availableChange,
      entry.balanceChange,
      entry.available,
      entry.balance,
    ]);
    assert.deepEqual(rows, [
      [`capture:${done}`, '0.01', '0', '-0.01', '0.89', '0.89'],
      [`release:${cancelled}`, '0.01', '0.01', '0', '0.89', '0.9'],
      [`hold:${cancelled}`, '0.01', '-0.01', '0', '0.88', '0.9'],
      [`hold:${done}`, '0.01', '-0.01', '0', '0.89', '0.9'],
      [`adjustment:${account.id} correction`, '-0.1', '-0.1', '-0.1', '0.9', '0.9'],
      [`topup:${account.id} in`, '1', '1', '1', '1', '1'],
    ]);
    const [hold] = entries.filter(({ id }) => id === `hold:${done}`);
    assert.deepEqual(
      [hold?.kind, hold?.reference, hold?.currency, hold?.keyId, hold?.model],
      ['hold', done, 'USD', keyId, 'acme/images'],
    );
    assert.deepEqual([entries.at(-1)?.keyId, entries.at(-1)?.model], [null, null]);
    assert.deepEqual((await get<WireAccount>(client, '/v1/account')).data.available, entries[0]?.available);
  });

  it('is read page by page without missing or repeating an entry, whatever is added meanwhile', async () => {
    const account = await served.newAccount({ microUsd: 0n });
    const book = (count: number, name: string): Promise<unknown> =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          served.room.database.transaction((transaction) =>
            topUp(transaction, account.id, 1n, `${account.id}:${name}:${index}`),
          ),
        ),
      );
    await book(25, 'ü, first');
    const whole = (await ledger(account.client, 'size=100')).entries.map(({ id }) => id);

    const read: string[] = [];
    let cursor: string | undefined = '';
    for (let page = 0; cursor !== undefined; page++) {
      const answer: WireLedger = await ledger(account.client, `size=10${cursor === '' ? '' : `&cursor=${cursor}`}`);
      read.push(...answer.entries.map(({ id }) => id));
      cursor = answer.nextCursor;
      assert.equal(answer.entries.length, page < 2 ? 10 : 5);
      await book(3, `later ${page}`);
    }

    assert.deepEqual(read, whole);
    const [newest, ...older] = (await ledger(account.client, 'size=100')).entries;
    assert.equal(newest?.available, '0.000034');
    for (const [index, { balance }] of older.entries()) assert.equal(balance, formatUsd(BigInt(33 - index)));
  });

  // Proves C7-21.
  it('is filtered by kind, key, reference and time', async () => {
    const account = await served.newAccount();
    const [one, other] = [await account.newKey(), await account.newKey()];
    const taskId = await created(one.client);
    await created(other.client);
    await served.succeed(taskId, Buffer.from('bytes'));
    const ids = async (query: string): Promise<readonly string[]> =>
      (await ledger(account.client, query)).entries.map(({ id }) => id);

    assert.deepEqual(await ids(`keyId=${one.id}`), [`capture:${taskId}`, `hold:${taskId}`]);
    assert.deepEqual(await ids(`reference=${taskId}`), [`capture:${taskId}`, `hold:${taskId}`]);
    assert.deepEqual(await ids(`reference=${taskId}&kind=hold`), [`hold:${taskId}`]);
    assert.deepEqual(await ids(`reference=${taskId}&size=1`), [`capture:${taskId}`]);
    const { nextCursor } = await ledger(account.client, `reference=${taskId}&size=1`);
    assert.deepEqual(await ids(`reference=${taskId}&size=1&cursor=${nextCursor}`), [`hold:${taskId}`]);
    assert.deepEqual(
      (await ids('kind=capture,topup')).map((id) => id.split(':')[0]),
      ['capture', 'topup'],
    );
    assert.deepEqual((await ids('kind=capture&kind=topup')).length, 2);
    assert.deepEqual(await ids('kind=adjustment'), []);
    assert.deepEqual(await ids('keyId=unknownkey'), []);
    const [hold] = (await ledger(account.client, `reference=${taskId}&kind=hold`)).entries;
    const at = hold?.at ?? 0;
    assert.ok((await ids(`from=${at}`)).includes(`hold:${taskId}`));
    assert.ok(!(await ids(`from=${at + 3_600}`)).includes(`hold:${taskId}`));
    assert.ok((await ids(`to=${at + 1}`)).includes(`hold:${taskId}`));
    assert.deepEqual(await ids(`to=${at - 3_600}`), []);
    assert.deepEqual(await ids('from=253402300799'), []);
    assert.deepEqual(await ids(`from=${at}&to=${at}`), []);
  });

  it('hides entries of other accounts, by reference and by cursor', async () => {
    const [owner, other] = [await served.newAccount(), await served.newAccount()];
    const taskId = await created(owner.client);
    await created(owner.client);
    const { nextCursor } = await ledger(owner.client, 'size=1');

    assert.deepEqual((await ledger(other.client, `reference=${taskId}`)).entries, []);
    const answer = await get(other.client, `/v1/account/ledger?cursor=${nextCursor}`);
    const unknown = 'invalid request: cursor: unknown cursor: use the `nextCursor` of the previous page';
    assert.deepEqual([answer.status, answer.message], [400, unknown]);
  });

  it('rejects an invalid query, naming what is wrong', async () => {
    const { client } = await served.newAccount();
    const long = 'x'.repeat(2_001);
    for (const [query, message] of [
      ['cursor=', /^invalid request: cursor: minLength/],
      ['cursor=x', /^invalid request: cursor: unknown cursor: use the `nextCursor` of the previous page$/],
      ['cursor=%00', /^invalid request: cursor: unknown cursor/],
      [`cursor=${Buffer.from('hold:').toString('base64url')}`, /^invalid request: cursor: unknown cursor/],
      [`cursor=${Buffer.from('hold:a\0b').toString('base64url')}`, /^invalid request: cursor: unknown cursor/],
      [`cursor=${Buffer.from('__proto__:a').toString('base64url')}`, /^invalid request: cursor: unknown cursor/],
      [`cursor=${Buffer.from('hold:nothing').toString('base64url')}`, /^invalid request: cursor: unknown cursor/],
      [`cursor=${long}`, /^invalid request: cursor: maxLength: got 2001, want 2000$/],
      ['size=ten', /^invalid request: size: type: got string, want integer$/],
      ['size=NaN', /^invalid request: size: type: got string, want integer$/],
      ['size=1.5', /^invalid request: size: type: got string, want integer$/],
      ['size=10&size=20', /^invalid request: size: given more than once$/],
      ['kind=', /^invalid request: kind\.0: enum: got "", want one of /],
      ['kind=Hold', /^invalid request: kind\.0: enum: got "Hold", want one of /],
      [
        `kind=${Array.from({ length: 11 }, () => 'hold').join(',')}`,
        /^invalid request: kind: maxItems: got 11, want 10$/,
      ],
      ['from=-1', /^invalid request: from: minimum: got -1, want 0$/],
      ['from=2027-03-01', /^invalid request: from: type: got string, want integer$/],
      [
        'from=1803902401&to=1803902400',
        /^invalid request: from: maximum: got 1803902401, want 1803902400, the value of to$/,
      ],
      ['to=99999999999999999999', /^invalid request: to: maximum: /],
      ['keyId=', /^invalid request: keyId: pattern: /],
      ['keyId=a%00', /^invalid request: keyId: pattern: /],
      ['reference=', /^invalid request: reference: minLength/],
      ['reference=a%00b', /^invalid request: reference: pattern: /],
      ['page=1', /^additional properties not allowed: page$/],
      ['__proto__=1', /^additional properties not allowed: __proto__$/],
    ] as const) {
      const answer = await get(client, `/v1/account/ledger?${query}`);
      assert.deepEqual([answer.status, answer.code], [400, 'INVALID_REQUEST'], query);
      assert.match(answer.message, message);
    }
    for (const [query, size] of [
      ['size=0', 1],
      ['size=-5', 1],
      ['size=101', 100],
      ['size=99999999999999999999', 100],
    ] as const) {
      assert.equal((await ledger(client, query)).size, size);
    }
    assert.deepEqual((await ledger(client, 'reference=%27%3B%20DROP%20TABLE%20tasks%3B--%F0%9F%A6%8A')).entries, []);
  });
});

/** `GET /v1/account/usage`: what was captured, summed by UTC day, model and key. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiClient } from '../support/api-client.ts';
import { created, get } from './account-client.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { formatUsd } from '../../src/domain/money.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

const DAY_MS = 86_400_000;

let served: ServedApp;
let nowMs = Date.parse('2027-03-01T12:00:00Z');
before(async () => {
  served = await serveApp({ now: () => nowMs });
});
after(() => served.close());

interface Usage {
  readonly from: string;
  readonly to: string;
  readonly groupBy: readonly string[];
  readonly currency: string;
  readonly rows: readonly Record<string, unknown>[];
  readonly total: { readonly captured: string; readonly count: number };
}

describe('usage', () => {
  const usage = async (client: ApiClient, query = ''): Promise<Usage> =>
    (await get<Usage>(client, `/v1/account/usage?${query}`)).data;

  /** Records captures in the past, as settlements would have done then. */
  async function book(account: ServedAccount, captures: readonly (readonly [string, bigint, string?, string?])[]) {
    for (const [index, [at, microUsd, model, keyId]] of captures.entries()) {
      await served.room.rows(
        `INSERT INTO ledger_entries (account_id, kind, reference, amount_micro_usd, key_id, model, created_at,
                                     available_after_micro_usd, held_after_micro_usd)
         VALUES ($1, 'capture', $2, $3, $4, $5, $6, 0, 0)`,
        account.id,
        `${account.id} ${index}`,
        microUsd,
        keyId ?? null,
        model ?? null,
        at,
      );
    }
  }

  it('is that of one end user, of text calls and of tasks', async () => {
    const account = await served.newAccount();
    const { client } = account;
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const ids: string[] = [];
    for (const whom of [{ user: 'ada' }, { user: 'bob', safety_identifier: 'ada' }, { user: 'bob' }, {}]) {
      const { body } = await client.send('POST', '/v1/chat/completions', { model: 'acme/text', messages, ...whom });
      ids.push((body as unknown as { id: string }).id);
    }
    const speech = { model: 'acme/compatible-speech', input: 'Hello.', voice: 'alloy', safety_identifier: 'ada' };
    const headers = { Prefer: 'respond-async' };
    const created = await client.send('POST', '/v1/audio/speech', JSON.stringify(speech), headers);
    const { taskId } = created.body as unknown as { taskId: string };
    await served.succeed(taskId, Buffer.from('a sound'), 'audio/mpeg');
    const captured = () =>
      served.room.rows<{ amount: bigint }>(
        `SELECT amount_micro_usd AS amount FROM ledger_entries WHERE kind = 'capture' AND reference = ANY ($1)`,
        [...ids.slice(0, 2), taskId],
      );
    await waitFor('the calls are settled', async () => (await captured()).length === 3);
    const days = [-1, 1].map((each) => new Date(Date.now() + each * DAY_MS).toISOString().slice(0, 10));
    const { total } = await usage(client, `from=${days[0]}&to=${days[1]}&groupBy=model&user=ada`);
    const sum = (await captured()).reduce((all, { amount }) => all + amount, 0n);

    assert.deepEqual(total, { captured: formatUsd(sum), count: 3 });
    assert.equal((await usage(client, `from=${days[0]}&to=${days[1]}&user=nobody`)).total.count, 0);
    const stranger = await served.newAccount();
    assert.equal((await usage(stranger.client, `from=${days[0]}&to=${days[1]}&user=ada`)).total.count, 0);
    const { body: list } = await client.send('GET', '/v1/tasks?metadata.user=ada');
    assert.equal((list.data as unknown as { tasks: readonly unknown[] }).tasks.length, 1);
  });

  it('sums what was captured by UTC day, model and key, in any combination; storage counts no task', async () => {
    const account = await served.newAccount();
    await book(account, [
      ['2027-01-31T23:59:59.999999Z', 1n, 'a', 'k1'],
      ['2027-02-01T00:00:00Z', 10n, 'a', 'k1'],
      ['2027-02-01T23:59:59.999999Z', 20n, 'b', 'k1'],
      ['2027-02-02T00:00:00Z', 40n, 'a', 'k2'],
      ['2027-02-02T12:00:00Z', 80n],
      ['2027-02-03T00:00:00Z', 1n, 'a', 'k1'],
    ]);
    const rows = async (groupBy: string) =>
      (await usage(account.client, `from=2027-02-01&to=2027-02-02&groupBy=${groupBy}`)).rows;

    assert.deepEqual(await usage(account.client, 'from=2027-02-01&to=2027-02-02'), {
      from: '2027-02-01',
      to: '2027-02-02',
      groupBy: ['day'],
      currency: 'USD',
      rows: [
        { day: '2027-02-01', captured: '0.00003', count: 2 },
        { day: '2027-02-02', captured: '0.00012', count: 1 },
      ],
      total: { captured: '0.00015', count: 3 },
    });
    assert.deepEqual(await rows('model'), [
      { model: 'a', captured: '0.00005', count: 2 },
      { model: 'b', captured: '0.00002', count: 1 },
      { model: null, captured: '0.00008', count: 0 },
    ]);
    assert.deepEqual(await rows('keyId'), [
      { keyId: 'k1', captured: '0.00003', count: 2 },
      { keyId: 'k2', captured: '0.00004', count: 1 },
      { keyId: null, captured: '0.00008', count: 0 },
    ]);
    const all = [
      { day: '2027-02-01', model: 'a', keyId: 'k1', captured: '0.00001', count: 1 },
      { day: '2027-02-01', model: 'b', keyId: 'k1', captured: '0.00002', count: 1 },
      { day: '2027-02-02', model: 'a', keyId: 'k2', captured: '0.00004', count: 1 },
      { day: '2027-02-02', model: null, keyId: null, captured: '0.00008', count: 0 },
    ];
    assert.deepEqual(await rows('day,model,keyId'), all);
    assert.deepEqual(await rows('keyId&groupBy=model&groupBy=day'), all);
  });

  // Proves C7-22.
  it('includes what settlements captured, and none of what was held or released', async () => {
    const account = await served.newAccount();
    const { client, id: keyId } = await account.newKey();
    const [done] = [await created(client), await created(client)];
    await served.succeed(done, Buffer.from('bytes'));
    const [row] = await served.room.rows<{ day: string }>(
      "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day",
    );

    const answer = await usage(client, `from=${row?.day}&to=${row?.day}&groupBy=model,keyId`);

    assert.deepEqual(answer.rows, [{ model: 'acme/images', keyId, captured: '0.01', count: 1 }]);
    assert.deepEqual(answer.total, { captured: '0.01', count: 1 });
  });

  // Proves C7-22.
  it('is that of the last 30 days when none are given, and of the own account only', async () => {
    const [owner, other] = [await served.newAccount(), await served.newAccount()];
    nowMs = Date.parse('2027-03-30T00:00:00Z');
    await book(owner, [
      ['2027-02-28T23:59:59Z', 1n, 'a', 'k'],
      ['2027-03-01T00:00:00Z', 2n, 'a', 'k'],
      ['2027-03-30T23:59:59Z', 4n, 'a', 'k'],
    ]);

    const answer = await usage(owner.client);

    assert.deepEqual([answer.from, answer.to, answer.total.captured], ['2027-03-01', '2027-03-30', '0.000006']);
    assert.deepEqual([(await usage(other.client)).rows, (await usage(other.client)).total.count], [[], 0]);
    nowMs += DAY_MS;
    assert.deepEqual((await usage(owner.client)).total.captured, '0.000004');
    const until = await usage(owner.client, 'to=2027-03-01');
    assert.deepEqual([until.from, until.total.captured], ['2027-01-31', '0.000003']);
  });

  it('is rejected for invalid, too many or reversed days, and for unknown groups', async () => {
    const { client } = await served.newAccount();
    for (const [query, message] of [
      ['from=2027-02-29', /^invalid request: from: there is no such day$/],
      ['from=2027-13-01', /^invalid request: from: there is no such day$/],
      ['from=0000-01-01', /^invalid request: from: there is no such day$/],
      ['to=2027-2-1', /^invalid request: to: pattern: /],
      ['to=1803902400', /^invalid request: to: pattern: /],
      ['to=2027-02-01T00:00:00Z', /^invalid request: to: pattern: /],
      ['to=', /^invalid request: to: pattern: /],
      ['to=2027-02-01%00', /^invalid request: to: pattern: /],
      [
        'from=2027-02-02&to=2027-02-01',
        /^invalid request: from: maximum: got 2027-02-02, want 2027-02-01, the value of to$/,
      ],
      ['from=9999-01-01', /^invalid request: from: maximum: got 9999-01-01, want \d{4}-\d\d-\d\d, the value of to$/],
      ['from=2026-01-01&to=2027-01-02', /^invalid request: from: at most 366 days per request, got 367$/],
      ['from=0001-01-01&to=9999-12-31', /^invalid request: from: at most 366 days/],
      ['groupBy=', /^invalid request: groupBy\.0: enum: got "", want one of "day", "model", "keyId"$/],
      ['groupBy=month', /^invalid request: groupBy\.0: enum: got "month", want one of /],
      ['groupBy=day,day', /^invalid request: groupBy: uniqueItems: /],
      ['groupBy=day,model,keyId,day', /^invalid request: groupBy: maxItems: got 4, want 3$/],
      ['groupBy=__proto__', /^invalid request: groupBy\.0: enum: /],
      ['from=2027-02-01&from=2027-02-01', /^invalid request: from: given more than once$/],
      ['groupby=day', /^additional properties not allowed: groupby$/],
    ] as const) {
      const answer = await get(client, `/v1/account/usage?${query}`);
      assert.deepEqual([answer.status, answer.code], [400, 'INVALID_REQUEST'], query);
      assert.match(answer.message, message);
    }
    for (const query of [
      'to=0001-01-01',
      'to=9999-12-31',
      'from=2026-01-01&to=2027-01-01',
      'from=2028-02-29&to=2028-02-29',
    ]) {
      assert.equal((await get(client, `/v1/account/usage?${query}`)).status, 200, query);
    }
  });
});

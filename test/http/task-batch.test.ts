/** `POST /v1/tasks:batch`: each item is answered by itself, and all that are accepted have their tasks (contract §2.7). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { WireTaskBatchResult } from '@darkroom/api/tasks/create-batch';
import { ApiClient } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type Result = WireTaskBatchResult['results'][number];
/** What a task of the model holds. */
const HOLD = 10_000n;

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(async () => {
  assert.deepEqual(await verifyLedger(served.room.database), []);
  await served.close();
});

type Sender = Pick<ServedAccount, 'client'>;

function send(tasks: unknown, of: Sender = account) {
  return of.client.send('POST', '/v1/tasks:batch', { tasks });
}

async function results(tasks: readonly object[], of: Sender = account): Promise<readonly Result[]> {
  const { status, body: answered } = await send(tasks, of);
  assert.equal(status, 200, JSON.stringify(answered));
  return (answered.data as unknown as WireTaskBatchResult).results;
}

function codesOf(answered: readonly Result[]): readonly (string | number)[] {
  return answered.map(({ status, error, isReplay }) => error?.error_code ?? (isReplay === true ? 'replay' : status));
}

async function stateOf({ id }: ServedAccount): Promise<{ tasks: number; held: bigint }> {
  const [row] = await served.room.rows<{ tasks: bigint; held: bigint }>(
    `SELECT (SELECT count(*) FROM tasks WHERE account_id = $1) AS tasks, held_micro_usd AS held
       FROM account_counters WHERE account_id = $1`,
    id,
  );
  return { tasks: Number(row?.tasks), held: row?.held ?? 0n };
}

describe('several creates in one request', () => {
  // Proves C2-26.
  it('are tasks like any other, answered in their order', async () => {
    const own = await served.newAccount();
    const [first, second] = await results([body(), body({ metadata: { place: '2' } })], own);

    assert.deepEqual([first?.status, second?.status], [200, 200]);
    const { body: read } = await own.client.get(second?.taskId ?? '');
    assert.deepEqual((read.data as unknown as { metadata: object }).metadata, { place: '2' });
    assert.deepEqual(await stateOf(own), { tasks: 2, held: 2n * HOLD });
  });

  // Proves C2-26.
  it('are rejected one by one with the errors of a create, and hold nothing then', async () => {
    const own = await served.newAccount();
    const items = [
      body(),
      body({ model: 'acme/none' }),
      body({ input: {} }),
      body({ input: { prompt: 'a fox', other: 1 } }),
      body({ maxCost: '0.000001' }),
      body({ other: true }),
      body({ idempotencyKey: '' }),
      body({ idempotencyKey: 'a b' }),
      body({ idempotencyKey: 7 }),
      {},
      body(),
    ];
    const answered = await results(items, own);

    assert.deepEqual(codesOf(answered), [
      200,
      'MODEL_UNAVAILABLE',
      ...Array.from({ length: 8 }, () => 'INVALID_REQUEST'),
      200,
    ]);
    assert.deepEqual(await stateOf(own), { tasks: 2, held: 2n * HOLD });
    for (const [index, item] of items.entries()) {
      const { error, status } = answered[index] ?? assert.fail();
      if (error === undefined || 'idempotencyKey' in item) continue;
      const alone = await own.client.create(item);
      assert.deepEqual([alone.status, alone.body], [status, error]);
    }
    assert.match(answered[6]?.error?.message ?? '', /^invalid request: idempotencyKey: must be 1-255/);
  });

  // Proves C2-27.
  it('use the same keys as single creates', async () => {
    const single = (await account.client.create(body(), 'shared')).body.data.taskId;
    const [replay, mismatch, fresh] = await results([
      body({ idempotencyKey: 'shared' }),
      body({ idempotencyKey: 'shared', metadata: { other: 'body' } }),
      body({ idempotencyKey: 'of-the-batch' }),
    ]);

    assert.deepEqual(replay, { status: 200, taskId: single, isReplay: true });
    assert.deepEqual([mismatch?.status, mismatch?.error?.error_code], [422, 'IDEMPOTENCY_KEY_MISMATCH']);
    const again = await account.client.create(body(), 'of-the-batch');
    assert.equal(again.body.data.taskId, fresh?.taskId);
    assert.equal(again.headers.get('idempotent-replay'), 'true');
  });

  it('are one task where a key occurs twice in a request', async () => {
    const own = await served.newAccount();
    const twice = body({ idempotencyKey: 'twice' });
    const answered = await results([twice, twice, { ...twice, metadata: { other: 'body' } }], own);

    assert.deepEqual(codesOf(answered), [200, 'replay', 'IDEMPOTENCY_KEY_MISMATCH']);
    assert.equal(answered[0]?.taskId, answered[1]?.taskId);
    assert.deepEqual(await stateOf(own), { tasks: 1, held: HOLD });
  });

  // Proves C2-27.
  it('are the same tasks when the request is repeated, and when it is sent many times at once', async () => {
    const own = await served.newAccount();
    const items = Array.from({ length: 150 }, (_, index) => body({ idempotencyKey: `item-${index}` }));

    const all = await Promise.all(Array.from({ length: 6 }, () => results(items, own)));
    const again = await results(items, own);

    for (const answered of all) {
      assert.deepEqual(
        answered.map(({ taskId }) => taskId),
        again.map(({ taskId }) => taskId),
      );
    }
    assert.equal(all.flat().filter(({ isReplay }) => isReplay === false).length, 150);
    assert.deepEqual(await stateOf(own), { tasks: 150, held: 150n * HOLD });
  });

  it('are accepted as far as the balance goes, and a cheaper one after it', async () => {
    const own = await served.newAccount({ microUsd: 2n * HOLD + 1n });
    const free = body({ model: 'acme/free' });
    const keyed = body({ idempotencyKey: 'for-later' });
    const answered = await results([body(), body(), keyed, free], own);

    assert.deepEqual(codesOf(answered), [200, 200, 'INSUFFICIENT_BALANCE', 200]);
    assert.equal(answered[2]?.status, 402);
    assert.deepEqual(await stateOf(own), { tasks: 3, held: 2n * HOLD });
    // The key of a rejected item is not used up: another body may have it.
    const [later] = await results([{ ...free, idempotencyKey: 'for-later' }], own);
    assert.deepEqual([later?.status, later?.isReplay], [200, false]);
  });

  it('are accepted as far as the spend cap of the key goes', async () => {
    const own = await served.newAccount();
    const { status, body: made } = await own.client.send('POST', '/v1/account/keys', {
      name: 'capped',
      scopes: ['tasks:write'],
      spendCaps: { total: '0.02' },
    });
    assert.equal(status, 200, JSON.stringify(made));
    const { key } = made.data as unknown as { key: string };
    const capped = { client: new ApiClient([served.url], key) };

    assert.deepEqual(codesOf(await results([body(), body(), body()], capped)), [200, 200, 'INSUFFICIENT_BALANCE']);
    assert.deepEqual(codesOf(await results([body()], capped)), ['INSUFFICIENT_BALANCE']);
    assert.deepEqual(await stateOf(own), { tasks: 2, held: 2n * HOLD });
  });

  it('are accepted as far as the queue goes', async () => {
    const own = await served.newAccount({ queueCap: 2, runningCap: 1 });

    const answered = await results([body(), body(), body(), body()], own);

    assert.deepEqual(codesOf(answered), [200, 200, 200, 'RATE_LIMITED']);
    assert.equal(answered[3]?.status, 429);
  });

  it('take as much of the rate limit as there are new ones, at most a whole minute', async () => {
    const own = await served.newAccount({ createsPerMinute: 10 });
    const six = Array.from({ length: 6 }, (_, index) => body({ idempotencyKey: `six-${index}` }));
    await results(six, own);

    const {
      status,
      body: rejected,
      headers,
    } = await send(
      Array.from({ length: 6 }, () => body()),
      own,
    );
    assert.deepEqual([status, rejected.error_code], [429, 'RATE_LIMITED']);
    assert.ok(Number(headers.get('retry-after')) >= 1);
    assert.deepEqual(await stateOf(own), { tasks: 6, held: 6n * HOLD });
    // Replays take nothing.
    assert.deepEqual(
      codesOf(await results(six, own)),
      six.map(() => 'replay'),
    );

    const other = await served.newAccount({ createsPerMinute: 10 });
    await results(
      Array.from({ length: 30 }, () => body()),
      other,
    );
    assert.equal((await other.client.create(body())).status, 429);
  });

  it('are a thousand at most, with large inputs', async () => {
    const own = await served.newAccount({ microUsd: 1_000_000_000n });
    const prompt = 'a fox '.repeat(300);
    const thousand = Array.from({ length: 1_000 }, () => body({ input: { prompt } }));

    const answered = await results(thousand, own);

    assert.deepEqual([...new Set(codesOf(answered))], [200]);
    assert.equal(new Set(answered.map(({ taskId }) => taskId)).size, 1_000);
    assert.deepEqual(await stateOf(own), { tasks: 1_000, held: 1_000n * HOLD });
    const { status, body: rejected } = await send([...thousand, body()], own);
    assert.deepEqual([status, rejected.message], [400, 'invalid request: tasks: maxItems: got 1001, want 1000']);
    assert.deepEqual(await stateOf(own), { tasks: 1_000, held: 1_000n * HOLD });
  });

  it('need a request that is well-formed', async () => {
    for (const tasks of [undefined, null, 'x', {}, [], [body(), null], [[]], [7]]) {
      const { status, body: rejected } = await send(tasks);
      assert.deepEqual([status, rejected.error_code], [400, 'INVALID_REQUEST'], JSON.stringify(tasks));
    }
    const other = await account.client.send('POST', '/v1/tasks:batch', { tasks: [body()], other: 1 });
    assert.equal(other.status, 400);
  });

  it('wake the launcher', async () => {
    const { wakes } = served.notified;
    await results([body({ model: 'acme/none' })]);
    assert.equal(served.notified.wakes, wakes);
    await results([body()]);
    assert.ok(served.notified.wakes > wakes);
  });
});

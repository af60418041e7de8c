/** `/v1/account`: the balance and the limits, a suspension, and the attempts of all of an account's callbacks. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Static } from 'typebox';
import { setSuspended, updateLimits } from '../../src/accounts/accounts.ts';
import { beginAttempt, finishAttempt, WALKED_ATTEMPTS } from '../../src/callbacks/attempts.ts';
import type { AttemptResult } from '../../src/callbacks/attempts.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import type { WireAccount } from '@darkroom/api/tasks/account';
import type { AccountCallbacksSchema } from '@darkroom/api/tasks/account-callbacks';
import { created, get } from './account-client.ts';
import { newTask } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type List = Static<typeof AccountCallbacksSchema>;
const SCHEDULE_LENGTH = 20;

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

describe('the account', () => {
  // Proves C7-20.
  it('returns its money, its limits and its current usage', async () => {
    const account = await served.newAccount({ microUsd: 1_000_000n, runningCap: 3, queueCap: 4 });
    const { database } = served.room;
    await database.transaction((transaction) =>
      updateLimits(transaction, account.id, {
        createsPerMinute: 100,
        readsPerMinute: 200,
        storageCapBytes: 300,
        textRequestsPerMinute: 400,
        textTokensPerMinute: 500,
        textStreamsCap: 600,
      }),
    );
    await served.room.rows('UPDATE account_counters SET persistent_bytes = 7 WHERE account_id = $1', account.id);
    await created(account.client);
    const { client } = account;

    const { data } = await get<WireAccount>(client, '/v1/account');

    assert.deepEqual(data, {
      accountId: account.id,
      name: 'test',
      status: 'active',
      balance: '1',
      held: '0.01',
      available: '0.99',
      currency: 'USD',
      limits: {
        createsPerMinute: 100,
        readsPerMinute: 200,
        runningTasks: 3,
        queuedTasks: 4,
        persistentBytes: 300,
        textRequestsPerMinute: 400,
        textTokensPerMinute: 500,
        textStreams: 600,
      },
      usage: { runningTasks: 0, queuedTasks: 1, persistentBytes: 7, textStreams: 0 },
      storagePrice: '0.05',
      callbackProblems: [],
      created: data.created,
    });
    assert.ok(data.created > 1_700_000_000);
    await claimOutbox(database, 1_000);
    assert.deepEqual((await get<WireAccount>(client, '/v1/account')).data.usage, {
      runningTasks: 1,
      queuedTasks: 0,
      persistentBytes: 7,
      textStreams: 0,
    });
    await served.room.rows('UPDATE account_counters SET persistent_bytes = 0 WHERE account_id = $1', account.id);
  });

  it('requires the scope billing:read for its ledger and its usage', async () => {
    const account = await served.newAccount();
    const { client } = await account.newKey({ scopes: ['tasks:read', 'keys:manage'] });

    for (const path of ['/v1/account', '/v1/account/ledger', '/v1/account/usage']) {
      const answer = await get(client, path);
      assert.deepEqual([answer.status, answer.message], [403, 'this key lacks the scope billing:read']);
    }
  });
});

describe('a suspended account', () => {
  // Proves C7-17.
  it('has its running tasks finished and its queued ones paused, and continues when resumed', async () => {
    const account = await served.newAccount({ runningCap: 1 });
    const { database } = served.room;
    const [running, queued] = [await created(account.client), await created(account.client)];
    await claimOutbox(database, 1_000);
    const suspend = (isSuspended: boolean): Promise<void> =>
      database.transaction((transaction) => setSuspended(transaction, account.id, isSuspended));
    await suspend(true);

    await served.succeed(running, Buffer.from('bytes'));

    const statusOf = (): Promise<readonly unknown[]> =>
      served.room.rows('SELECT id, status FROM tasks WHERE account_id = $1 ORDER BY created_at, id', account.id);
    assert.deepEqual(await statusOf(), [
      { id: running, status: 'success' },
      { id: queued, status: 'queued' },
    ]);
    const counters = 'SELECT queued, running FROM account_counters WHERE account_id = $1';
    await claimOutbox(database, 1_000);
    assert.deepEqual(await served.room.rows(counters, account.id), [{ queued: 1, running: 0 }]);
    await suspend(false);
    await claimOutbox(database, 1_000);
    assert.deepEqual(await served.room.rows(counters, account.id), [{ queued: 0, running: 1 }]);
  });
});

/** A finished task, so that its callback can be attempted. */
async function overTask(account: ServedAccount, url: string): Promise<TaskId> {
  const taskId = (await newTask(account, { callback: { url } })) as TaskId;
  await claimOutbox(served.room.database, 100);
  await settleTask(served.room.database, taskId, { status: 'fail', reason: 'provider_error' }, { retentionDays: 7 });
  return taskId;
}

async function attempt(
  taskId: TaskId,
  result: AttemptResult,
  state: 'pending' | 'delivered' | 'exhausted',
): Promise<void> {
  const { database } = served.room;
  const pending = await beginAttempt(database, taskId, SCHEDULE_LENGTH);
  assert.ok(pending);
  await finishAttempt(database, taskId, pending.attempt, result, state, state === 'pending' ? 0 : undefined);
}

async function list({ client }: Pick<ServedAccount, 'client'>, query = ''): Promise<List> {
  const { status, body: answer } = await client.send('GET', `/v1/account/callbacks${query}`);
  assert.equal(status, 200, JSON.stringify(answer));
  return answer.data as unknown as List;
}

/** What distinguishes the attempts. */
const marks = ({ attempts }: List): readonly string[] => attempts.map((each) => `${each.taskId} ${each.attempt}`);

describe('the callback attempts of an account', () => {
  it('include the task, the receiver, the state of the delivery and the result of each, newest first', async () => {
    const account = await served.newAccount();
    const url = 'https://Receiver.example:443/hook?from=darkroom';
    const first = await overTask(account, url);
    const second = await overTask(account, 'https://other.example/hook');
    await attempt(first, { httpStatus: 500 }, 'pending');
    await attempt(second, { errorClass: 'timeout' }, 'exhausted');
    await attempt(first, { httpStatus: 204 }, 'delivered');

    const { attempts, ...rest } = await list(account);

    assert.deepEqual(rest, { size: 20 });
    assert.deepEqual(
      attempts.map(({ at: _at, durationMs: _durationMs, ...facts }) => facts),
      [
        {
          taskId: first,
          url,
          origin: 'https://receiver.example',
          state: 'delivered',
          attempt: 2,
          status: 204,
          errorClass: null,
        },
        {
          taskId: second,
          url: 'https://other.example/hook',
          origin: 'https://other.example',
          state: 'exhausted',
          attempt: 1,
          status: null,
          errorClass: 'timeout',
        },
        {
          taskId: first,
          url,
          origin: 'https://receiver.example',
          state: 'delivered',
          attempt: 1,
          status: 500,
          errorClass: null,
        },
      ],
    );
    for (const { at, durationMs } of attempts) {
      assert.ok(Number.isInteger(at) && Number.isInteger(durationMs));
    }
  });

  it('are filtered by the state of the delivery and by the receiver, in any spelling', async () => {
    const account = await served.newAccount();
    const one = await overTask(account, 'https://one.example/a');
    const two = await overTask(account, 'https://two.example/b');
    await attempt(one, { httpStatus: 204 }, 'delivered');
    await attempt(two, { httpStatus: 500 }, 'exhausted');

    assert.deepEqual(marks(await list(account, '?state=exhausted')), [`${two} 1`]);
    assert.deepEqual(marks(await list(account, '?state=exhausted,delivered')), [`${two} 1`, `${one} 1`]);
    assert.deepEqual(marks(await list(account, '?origin=https://ONE.example:443/')), [`${one} 1`]);
    assert.deepEqual(marks(await list(account, '?origin=https://two.example:444')), []);
    assert.deepEqual(marks(await list(account, '?origin=https://%5B::z%5D')), []);
    assert.deepEqual(marks(await list(account, '?origin=https://two.example&state=delivered')), []);
  });

  it('are paginated without gaps or duplicates while others are made', async () => {
    const account = await served.newAccount();
    const taskId = await overTask(account, 'https://example.com/hook');
    for (let index = 0; index < 5; index++) await attempt(taskId, { httpStatus: 500 }, 'pending');

    const first = await list(account, '?size=2');
    await attempt(taskId, { httpStatus: 500 }, 'pending');
    const second = await list(account, `?size=2&cursor=${first.nextCursor}`);
    const third = await list(account, `?size=2&cursor=${second.nextCursor}`);

    assert.deepEqual(
      [first, second, third].map(marks),
      [[5, 4], [3, 2], [1]].map((page) => page.map((number) => `${taskId} ${number}`)),
    );
    assert.equal(third.nextCursor, undefined);
  });

  it('are scanned in batches when a filter matches few, and all are reached', async () => {
    const account = await served.newAccount();
    const wanted = await overTask(account, 'https://wanted.example/hook');
    await attempt(wanted, { httpStatus: 204 }, 'delivered');
    const busy = await overTask(account, 'https://busy.example/hook');
    await served.room.rows(
      `INSERT INTO callback_attempts (task_id, account_id, attempt, started_at)
       SELECT $1, $2, n, now() + make_interval(secs => n) FROM generate_series(1, $3) n`,
      busy,
      account.id,
      WALKED_ATTEMPTS,
    );

    const first = await list(account, '?origin=https://wanted.example');
    assert.deepEqual(first.attempts, []);
    const second = await list(account, `?origin=https://wanted.example&cursor=${first.nextCursor}`);
    assert.deepEqual(marks(second), [`${wanted} 1`]);
    assert.equal(second.nextCursor, undefined);
  });

  it('do not show an erased address', async () => {
    const account = await served.newAccount();
    const taskId = await overTask(account, 'https://example.com/hook');
    await attempt(taskId, { httpStatus: 204 }, 'delivered');
    await served.room.rows(`UPDATE callbacks SET url = '' WHERE task_id = $1`, taskId);

    const { attempts } = await list(account);

    assert.equal(attempts.length, 1);
    assert.ok(!('url' in (attempts[0] ?? {})) && !('origin' in (attempts[0] ?? {})));
    assert.deepEqual((await list(account, '?origin=https://example.com')).attempts, []);
  });

  it('are not visible to other accounts, and need the scope tasks:read', async () => {
    const account = await served.newAccount();
    const taskId = await overTask(account, 'https://example.com/hook');
    await attempt(taskId, { httpStatus: 204 }, 'delivered');

    assert.deepEqual((await list(await served.newAccount())).attempts, []);
    const { client } = await account.newKey({ scopes: ['webhooks:manage'] });
    assert.equal((await client.send('GET', '/v1/account/callbacks')).status, 403);
  });

  it('are rejected with the validation error', async () => {
    const { client } = await served.newAccount();
    for (const [query, message] of [
      ['?cursor=x', /cursor: unknown cursor/],
      ['?state=waiting', /state/],
      ['?origin=example.com', /origin: pattern: got "/],
      ['?origin=https://example.com/hook', /origin: pattern: got "/],
      ['?origin=https://me@example.com', /origin: pattern: got "/],
    ] as const) {
      const { status, body: answer } = await client.send('GET', `/v1/account/callbacks${query}`);
      assert.equal(status, 400, query);
      assert.match(answer.message, message);
    }
  });
});

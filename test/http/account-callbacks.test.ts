/** `GET /v1/account/callbacks`: the attempts of all of an account's callbacks. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Static } from 'typebox';
import { beginAttempt, finishAttempt, WALKED_ATTEMPTS } from '../../src/callbacks/attempts.ts';
import type { AttemptResult } from '../../src/callbacks/attempts.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import type { AccountCallbacksSchema } from '@darkroom/api/tasks/account-callbacks';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

type List = Static<typeof AccountCallbacksSchema>;
const SCHEDULE_LENGTH = 20;

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

/** A finished task, so that its callback can be attempted. */
async function overTask(account: ServedAccount, url: string): Promise<TaskId> {
  const { body: created } = await account.client.create(body({ callback: { url } }));
  const taskId = created.data.taskId as TaskId;
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
      ['?page=2', /page/],
    ] as const) {
      const { status, body: answer } = await client.send('GET', `/v1/account/callbacks${query}`);
      assert.equal(status, 400, query);
      assert.match(answer.message, message);
    }
  });
});

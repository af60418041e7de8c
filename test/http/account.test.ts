/** `/v1/account`: the balance and the limits, and what remains available during a suspension. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setSuspended, updateLimits } from '../../src/accounts/accounts.ts';
import { publicRoutes } from '../../src/http/app/routes.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import type { WireAccount } from '@darkroom/api/tasks/account';
import { created, get } from './account-client.ts';
import { raw } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

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
  // Proves C1-11.
  it('is denied everything that needs a key, whatever the scopes', async () => {
    const account = await served.newAccount();
    await served.room.database.transaction((transaction) => setSuspended(transaction, account.id, true));

    for (const { method, path, access } of publicRoutes(served.http)) {
      if (access === 'none' || access === 'operator') continue;
      const answer = await raw(served.url, method, path.replaceAll(/\{[^}]*\}/g, 'x'), {
        Authorization: `Bearer ${account.client.key}`,
      });
      const body = JSON.parse(answer.text) as { error_code?: string; error?: { data?: { error_code?: string } } };
      // JSON-RPC has its own field for it.
      const code = path === '/mcp' ? body.error?.data?.error_code : body.error_code;
      assert.deepEqual([answer.status, code], [403, 'ACCOUNT_SUSPENDED'], `${method} ${path}`);
    }
  });

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

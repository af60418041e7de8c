/** Lists with slow statements: those of one account leave database connections to all others. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { body } from '../tasks/task-room.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

/** Three times the pool, and below the limit of waiting requests of one account. */
const MANY = 30;
/** Half of a pool of 10 connections is for such reads, and an account leaves as many as it holds. */
const SHARE = 3;

describe('slow list requests', () => {
  let served: ServedApp;
  let locking: pg.Client;
  before(async () => {
    served = await serveApp();
    locking = new pg.Client({ connectionString: served.room.url });
    await locking.connect();
  });
  after(async () => {
    await locking.end();
    await served.close();
  });

  it('occupy a share of the connections, wait their turn, and delay no other request', async () => {
    const [hostile, other] = [await served.newAccount(), await served.newAccount()];
    const created = await other.client.create(body());
    await locking.query('BEGIN');
    await locking.query('LOCK TABLE task_metadata IN ACCESS EXCLUSIVE MODE');
    const lists = Array.from({ length: MANY }, () => hostile.client.send('GET', '/v1/tasks?metadata.a=b'));
    await waitFor('the share is in use', () => served.http.expensiveReads.usage().waiting === MANY - SHARE);

    const read = await other.client.send('GET', `/v1/tasks/${created.body.data.taskId}`);
    const summed = await other.client.send('GET', '/v1/account/usage');
    const made = await other.client.send('POST', '/v1/account/keys', { name: 'one more', scopes: ['tasks:read'] });
    assert.deepEqual([read.status, summed.status, made.status], [200, 200, 200]);
    assert.equal(served.http.expensiveReads.heldBy(hostile.id), SHARE);

    await locking.query('ROLLBACK');
    for (const list of lists) assert.equal((await list).status, 200);
    assert.equal(served.http.expensiveReads.usage().inUse, 0);
  });

  it('are rejected with Retry-After when too many of an account are waiting', async () => {
    const hostile = await served.newAccount();
    await locking.query('BEGIN');
    await locking.query('LOCK TABLE task_metadata IN ACCESS EXCLUSIVE MODE');
    const lists = Array.from({ length: SHARE + 101 }, () => hostile.client.send('GET', '/v1/tasks?metadata.a=b'));
    const rejected = await Promise.race(lists);

    assert.equal(rejected.status, 429);
    assert.equal(rejected.body.error_code, 'RATE_LIMITED');
    assert.equal(rejected.headers.get('retry-after'), '2');
    await locking.query('ROLLBACK');
    const statuses = (await Promise.all(lists)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, SHARE + 100);
  });
});

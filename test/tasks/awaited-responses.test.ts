/** Which task an automatic retry attaches to, whichever process it reaches. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import {
  attachRetry,
  attachRetryToOther,
  claimResponse,
  deleteOldResponses,
  forgetResponse,
  markReceived,
  releaseResponse,
} from '../../src/tasks/create/awaited-responses.ts';
import type { AwaitedRequest } from '../../src/tasks/create/awaited-responses.ts';
import { fingerprint } from '../../src/tasks/record/fingerprint.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';
import { programConfig } from '../support/pooled-run.ts';

describe('the tasks whose results clients wait for', () => {
  let room: TaskRoom;
  let other: Database;
  before(async () => {
    room = await openTaskRoom();
    other = openDatabase({ ...programConfig(room.url), poolSize: 5 }, silentLogger());
  });
  after(async () => {
    await other.close();
    await room.close();
  });

  const requestOf = ({ accountId, keyId }: Caller): AwaitedRequest => ({
    accountId,
    keyId,
    fingerprint: fingerprint(body()),
  });

  async function create(caller: Caller, waiter: string): Promise<TaskId> {
    const { taskId } = await room.creator.create(caller, body(), undefined, undefined, undefined, waiter);
    return taskId;
  }

  it('are recorded with their task, and only where a client waits', async () => {
    const caller = await room.newCaller();
    await room.creator.create(caller, body(), undefined);
    assert.equal(await attachRetry(other, requestOf(caller), 'a'), undefined);

    const taskId = await create(caller, 'a');
    assert.equal(await attachRetry(other, requestOf(caller), 'b'), taskId);
  });

  it('are not recorded when the task is rejected', async () => {
    const poor = await room.newCaller({ microUsd: 1n });
    await assert.rejects(create(poor, 'a'), { name: 'InsufficientBalanceError' });

    assert.equal(await attachRetry(room.database, requestOf(poor), 'b'), undefined);
  });

  it('are shared out among retries that come to two processes at the same time', async () => {
    const caller = await room.newCaller();
    const tasks = await Promise.all(Array.from({ length: 20 }, (_, index) => create(caller, `first ${index}`)));
    const attached = await Promise.all(
      tasks.map((_, index) =>
        attachRetry(index % 2 === 0 ? room.database : other, requestOf(caller), `retry ${index}`),
      ),
    );

    assert.deepEqual(new Set(attached), new Set(tasks));
  });

  it('prefer the one whose client is known to be gone', async () => {
    const caller = await room.newCaller();
    await create(caller, 'a');
    const gone = await create(caller, 'b');
    await create(caller, 'c');
    await releaseResponse(other, gone, 'b');

    assert.equal(await attachRetry(room.database, requestOf(caller), 'b again'), gone);
  });

  it('keep the retry when the connection of the attempt before ends late', async () => {
    const caller = await room.newCaller();
    const taskId = await create(caller, 'a');
    await attachRetry(other, requestOf(caller), 'a again');
    await releaseResponse(room.database, taskId, 'a');
    const next = await create(caller, 'b');
    await releaseResponse(room.database, next, 'b');

    assert.equal(await attachRetry(room.database, requestOf(caller), 'b again'), next);
  });

  it('give each result to one of the requests that wait, and another task to the rest while there is one', async () => {
    const caller = await room.newCaller();
    const [one, two] = [await create(caller, 'a'), await create(caller, 'b')];
    const attached = await attachRetry(other, requestOf(caller), 'b again');
    assert.equal(attached, one);

    assert.equal(await claimResponse(room.database, one, 'a'), true);
    assert.equal(await claimResponse(other, one, 'b again'), false);
    assert.equal(await claimResponse(room.database, one, 'a'), true);
    assert.equal(await attachRetryToOther(other, requestOf(caller), 'b again', [one]), two);
    assert.equal(await claimResponse(other, two, 'b again'), true);
    assert.equal(await attachRetryToOther(other, requestOf(caller), 'c', [one]), undefined);
  });

  it('can be claimed again when the response was not sent', async () => {
    const caller = await room.newCaller();
    const taskId = await create(caller, 'a');
    await claimResponse(room.database, taskId, 'a');
    await releaseResponse(room.database, taskId, 'a');

    assert.equal(await attachRetry(other, requestOf(caller), 'a again'), taskId);
    assert.equal(await claimResponse(other, taskId, 'a again'), true);
  });

  it('are found for five seconds after the result was received, behind those that no client has', async () => {
    const caller = await room.newCaller();
    const received = await create(caller, 'a');
    await markReceived(room.database, received);
    assert.equal(await attachRetry(other, requestOf(caller), 'a again'), received);

    const waiting = await create(caller, 'b');
    assert.equal(await attachRetry(other, requestOf(caller), 'b again'), waiting);
    await forgetResponse(room.database, waiting);
    await room.rows(
      "UPDATE awaited_responses SET received_at = now() - interval '6 seconds' WHERE task_id = $1",
      received,
    );
    assert.equal(await attachRetry(other, requestOf(caller), 'b again'), undefined);
    assert.equal(await claimResponse(room.database, waiting, 'b'), true);
  });

  it('are deleted when no retry can find them any more', async () => {
    const caller = await room.newCaller();
    const [old, young] = [await create(caller, 'a'), await create(caller, 'b')];
    await room.rows("UPDATE awaited_responses SET created_at = now() - interval '61 minutes' WHERE task_id = $1", old);

    assert.equal(await deleteOldResponses(room.database, 100), 1);
    assert.equal(await deleteOldResponses(room.database, 100), 0);
    assert.equal(await attachRetry(other, requestOf(caller), 'c'), young);
  });
});

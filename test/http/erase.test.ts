/** `POST /v1/tasks/{taskId}/erase` as its owner sees it (contract §4): what is gone, and what stays. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiAnswer } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';
import { listStored } from './stored-outputs.ts';

const CANARY = 'a canary no one may find';
const REQUEST = body({ input: { prompt: CANARY }, metadata: { order: CANARY } });

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

const erase = (taskId: string, of: ServedAccount = account): Promise<ApiAnswer> =>
  of.client.send('POST', `/v1/tasks/${taskId}/erase`);

async function finishedTask(key?: string): Promise<string> {
  const { body: created } = await account.client.create(REQUEST, key);
  await served.succeed(created.data.taskId, Buffer.from('an image'));
  return created.data.taskId;
}

type Detail = ApiAnswer['body']['data'] & { metadata?: unknown; input?: unknown; outputGone?: { reason: string }[] };

const detailOf = async (taskId: string, query = ''): Promise<Detail> =>
  (await account.client.send('GET', `/v1/tasks/${taskId}${query}`)).body.data;

describe('erasing over HTTP', () => {
  // Proves C4-14.
  it('erases input, metadata and outputs immediately, and retains id, model, times and money', async () => {
    const taskId = await finishedTask();
    assert.equal((await erase(taskId, await served.newAccount())).status, 404);
    const before = await detailOf(taskId);
    const url = before.output?.[0]?.url ?? assert.fail('no output');
    assert.equal((await fetch(url)).status, 200);

    const { status, body: answer } = await erase(taskId);

    assert.equal(status, 200);
    const { output, outputGone, metadata, ...kept } = answer.data as Detail;
    assert.deepEqual([output, metadata], [[], undefined]);
    assert.deepEqual(
      outputGone?.map(({ reason }) => reason),
      ['deleted'],
    );
    const { output: _output, metadata: _metadata, ...was } = before;
    assert.deepEqual(kept, was);
    assert.equal((await fetch(url)).status, 404);
    assert.equal((await detailOf(taskId, '?include=input')).input, null);
    assert.deepEqual((await listStored(account, `?taskId=${taskId}`)).items, []);
    const { body: found } = await account.client.send('GET', `/v1/tasks?metadata.order=${encodeURIComponent(CANARY)}`);
    assert.equal((found.data as unknown as { total: number }).total, 0);
    assert.deepEqual((await erase(taskId)).body, answer);
  });

  // Proves C2-20, C4-15.
  it('retains what a replay is compared with: the same request finds its task, another one is rejected', async () => {
    const taskId = await finishedTask('kept');
    await erase(taskId);

    const replay = await account.client.create(REQUEST, 'kept');
    const other = await account.client.create(body({ input: { prompt: 'another' } }), 'kept');

    assert.deepEqual([replay.status, replay.body.data.taskId], [200, taskId]);
    assert.equal(replay.headers.get('idempotent-replay'), 'true');
    assert.deepEqual([other.status, other.body.error_code], [422, 'IDEMPOTENCY_KEY_MISMATCH']);
    const rows = await served.room.rows(
      'SELECT fingerprint_version AS version, octet_length(fingerprint) AS bytes, input FROM tasks WHERE id = $1',
      taskId,
    );
    assert.deepEqual(rows, [{ version: 1, bytes: 32, input: null }]);
  });

  // Proves C4-14.
  it('is rejected for an open task, which loses nothing', async () => {
    const { body: created } = await account.client.create(REQUEST);

    const { status, body: answer } = await erase(created.data.taskId);

    assert.deepEqual([status, answer.error_code], [400, 'INVALID_REQUEST']);
    assert.match(answer.message, /not ended yet; cancel it first/);
    assert.deepEqual((await detailOf(created.data.taskId, '?include=input')).input, { prompt: CANARY });
  });
});

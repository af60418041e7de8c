/** `POST /hooks/{upstream}/{token}`, which providers call. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createHookUrls } from '../../src/upstreams/hook-urls.ts';
import { readProviderHooks } from '../../src/upstreams/provider-hooks.ts';
import { newTask } from './route-requests.ts';
import { SIGNING_KEY, serveApp } from './serve.ts';

const served = await serveApp();
after(() => served.close());
const { database } = served.room;
const urls = createHookUrls({ publicUrl: served.url, signingKey: SIGNING_KEY });
const account = await served.newAccount();

function hookOf(taskId: TaskId, name = 'replicate:example.org'): string {
  return urls.urlFor({ name, baseUrl: served.url }, taskId) ?? assert.fail('there is no address');
}

async function call(url: string, body: string | Buffer = '{}', headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(url, { method: 'POST', body, headers });
  await answer.arrayBuffer();
  return answer.status;
}

const receivedOf = async (taskId: TaskId): Promise<number> =>
  (await readProviderHooks(database, [taskId]))[0]?.received ?? 0;

describe('a hook of a provider', () => {
  // Proves C0-5.
  it('is counted whatever its body and type are, and changes nothing of the task', async () => {
    const taskId = (await newTask(account)) as TaskId;
    const { body: before } = await account.client.get(taskId);

    for (const [body, type] of [
      ['{"status":"succeeded"}', 'application/json'],
      ['', 'text/plain'],
      ['{"status":', 'application/json'],
      [Buffer.from([0xff, 0xfe]), 'application/octet-stream'],
    ] as const) {
      assert.equal(await call(hookOf(taskId), body, { 'content-type': type }), 200);
    }

    assert.equal(await receivedOf(taskId), 4);
    const { body: after } = await account.client.get(taskId);
    assert.deepEqual(after, before);
  });

  it('is 404 and leaves nothing behind when its token is forged or of another upstream', async () => {
    const taskId = (await newTask(account)) as TaskId;
    const [upstream = '', token = ''] = new URL(hookOf(taskId)).pathname.split('/').slice(2);
    const forged = [
      `${served.url}/hooks/${upstream}/${taskId}.AAAAAAAAAAAAAAAAAAAAAA`,
      `${served.url}/hooks/other/${token}`,
      `${served.url}/hooks/${upstream}/${token.slice(1)}`,
      `${served.url}/hooks/${upstream}/x`,
    ];

    for (const url of forged) assert.equal(await call(url), 404, url);
    assert.equal(await receivedOf(taskId), 0);
  });

  it('is answered like any other, and leaves nothing behind, for an ended or unknown task', async () => {
    const over = (await newTask(account)) as TaskId;
    await account.client.send('POST', `/v1/tasks/${over}/cancel`);
    const unknownTaskId = newTaskId();

    for (const taskId of [over, unknownTaskId]) {
      assert.equal(await call(hookOf(taskId)), 200);
      assert.equal(await receivedOf(taskId), 0);
    }
  });

  it('is 413 above 256 kB', async () => {
    const taskId = (await newTask(account)) as TaskId;

    assert.equal(await call(hookOf(taskId), Buffer.alloc(256_001)), 413);
    assert.equal(await receivedOf(taskId), 0);
  });

  it('accepts no method other than POST', async () => {
    const answer = await fetch(hookOf((await newTask(account)) as TaskId));

    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'POST, OPTIONS');
  });
});

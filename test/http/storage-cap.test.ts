/**
 * `storage: "persistent"` if the account's cap has no space left: decided when the outputs are archived (contract
 * §5).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiTask } from '../support/api-client.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
before(async () => {
  served = await serveApp();
});
after(() => served.close());

interface KeptTask extends ApiTask {
  readonly storage: string;
}

async function create({ client }: ServedAccount): Promise<string> {
  const { status, body: created } = await client.create(body({ storage: 'persistent' }));
  assert.equal(status, 200, JSON.stringify(created));
  return created.data.taskId;
}

/** How a task and its one output are stored, once it has succeeded with the given number of bytes. */
async function keptAs({ client }: ServedAccount, taskId: string, sizeBytes: number): Promise<unknown[]> {
  await served.succeed(taskId, Buffer.alloc(sizeBytes, 1));
  const task = (await client.get(taskId)).body.data as KeptTask;
  const [output] = (task.output ?? []) as unknown as { storage: string; retainUntil: number }[];
  assert.ok(output);
  const keptDays = output.retainUntil === 0 ? 0 : (output.retainUntil - task.completed) / 86_400;
  return [task.status, task.storage, output.storage, keptDays];
}

describe('persistent outputs of a task', () => {
  // Proves C5-17.
  it('fall back to temp over the cap, retained for 7 days, and the task shows that in its detail and its timeline', async () => {
    const account = await served.newAccount({ storageCapBytes: 10 });
    const taskId = await create(account);

    assert.deepEqual(await keptAs(account, taskId, 11), ['success', 'temp', 'temp', 7]);

    const { body: answer } = await account.client.send('GET', `/v1/tasks/${taskId}/events`);
    const { events } = answer.data as unknown as { events: { type: string; detail: unknown }[] };
    assert.deepEqual(
      events.filter(({ type }) => type === 'storage_fell_back').map(({ detail }) => detail),
      [{ storage: 'temp', reason: 'cap_exceeded' }],
    );
  });

  it('stay persistent up to the last byte of the cap', async () => {
    const account = await served.newAccount({ storageCapBytes: 10 });

    assert.deepEqual(await keptAs(account, await create(account), 10), ['success', 'persistent', 'persistent', 0]);
  });

  // Proves C5-17.
  it('are checked when they are archived, not when the task was created', async () => {
    const account = await served.newAccount({ storageCapBytes: 10 });
    const [first, second, third] = [await create(account), await create(account), await create(account)];

    assert.deepEqual((await keptAs(account, second, 8)).slice(1, 3), ['persistent', 'persistent']);
    assert.deepEqual((await keptAs(account, first, 8)).slice(1, 3), ['temp', 'temp']);
    const { body: answer } = await account.client.send('GET', '/v1/storages?storage_tier=persistent');
    const [kept] = (answer.data as unknown as { items: { id: string }[] }).items;
    await account.client.send('DELETE', `/v1/storages/${kept?.id}`);
    assert.deepEqual((await keptAs(account, third, 8)).slice(1, 3), ['persistent', 'persistent']);
  });
});

/**
 * `Retry-After` on the responses about a task that has not ended: by its model's usual time and its own age (contract
 * §3).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { beginArchiving, beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { definition } from '../catalogue/definitions.ts';
import { body } from '../tasks/task-room.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp({
    models: [
      definition({ name: 'acme/slow', typicalSeconds: 25 }),
      definition({ name: 'acme/slower', typicalSeconds: 900 }),
    ],
  });
  account = await served.newAccount();
});
after(() => served.close());

async function createTask(model: string): Promise<TaskId> {
  const { body: created } = await account.client.create(body({ model }));
  return created.data.taskId as TaskId;
}

/** Moves a task's creation back in time. */
function age(taskId: TaskId, seconds: number): Promise<unknown> {
  return served.room.rows(
    'UPDATE tasks SET created_at = now() - make_interval(secs => $2) WHERE id = $1',
    taskId,
    seconds,
  );
}

async function adviceFor(taskId: TaskId): Promise<number> {
  const header = (await account.client.get(taskId)).headers.get('retry-after');
  assert.match(header ?? '', /^\d+$/);
  return Number(header);
}

describe('Retry-After of an open task', () => {
  // Proves C3-19.
  it('is the time that its model usually takes, as long as that has not passed, and 30 s at most', async () => {
    let begun = performance.now();
    /** The rest of a duration that elapses while the task is read. */
    const assertLeft = (advised: number, seconds: number): void => {
      const passed = (performance.now() - begun) / 1000;
      assert.ok(advised <= seconds && advised >= Math.floor(seconds - passed), `${advised} s after ${passed} s`);
    };
    const [slow, slower] = [await createTask('acme/slow'), await createTask('acme/slower')];

    assertLeft(await adviceFor(slow), 25);
    assert.equal(await adviceFor(slower), 30);
    begun = performance.now();
    await age(slow, 10);
    assertLeft(await adviceFor(slow), 15);
  });

  // Proves C3-19.
  it('grows with the age of a task that is late', async () => {
    const taskId = await createTask('acme/images');
    const delays: number[] = [];
    for (const seconds of [2, 40, 120, 280, 86_000]) {
      await age(taskId, seconds);
      delays.push(await adviceFor(taskId));
    }

    assert.ok(
      delays.every((wait, index) => index === 0 || wait > (delays[index - 1] ?? 0)),
      delays.join(),
    );
    assert.equal(delays.at(-1), 30);
  });

  // Proves C3-19.
  it('is present while it is queued, handled and archived, and on the response to a cancel', async () => {
    const taskId = await createTask('acme/slow');
    await claimOutbox(served.room.database, 100);
    await adviceFor(taskId);
    await beginHandling(served.room.database, taskId, 60);
    await adviceFor(taskId);
    await beginArchiving(served.room.database, taskId);
    await adviceFor(taskId);

    const { headers } = await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  });
});

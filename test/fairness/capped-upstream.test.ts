/**
 * Tasks that wait for an upstream whose jobs are capped, through the whole service: the order of tasks, and what
 * waiting costs. How the queue handles slots is tested in test/upstreams/slots.test.ts.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { letPass } from '../support/let-pass.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const MODELS = {
  turns: [{ protocol: 'tasks', id: 'turns', concurrency: 1 }],
  waits: [{ protocol: 'tasks', id: 'waits', concurrency: 1 }],
  leaves: [{ protocol: 'tasks', id: 'leaves', concurrency: 1 }],
  raised: [{ protocol: 'tasks', id: 'raised', concurrency: 1 }],
} as const;

describe('tasks that wait for a capped upstream', { concurrency: true }, () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams({}, [], MODELS);
  });
  after(() => outside.stop());

  const start = async (account: TestAccount, model: keyof typeof MODELS, prompt: string, more = {}): Promise<string> =>
    outside.create(account, { model: `test/${model}`, input: { prompt }, ...more });

  /** Ends the upstream's only job. */
  async function end(account: TestAccount, taskId: string): Promise<void> {
    await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    assert.equal((await account.client.waitForTerminal(taskId)).error?.code, 'TASK_CANCELLED');
  }

  /** The prompts in the order in which the upstream received them. */
  const submitted = async (marker: string): Promise<readonly string[]> =>
    (await outside.providerLog(marker)).filter(({ kind }) => kind === 'submit').map(({ prompt }) => prompt ?? '');

  const waitForWaiters = (model: keyof typeof MODELS, count: number): Promise<void> =>
    waitFor(`${count} tasks wait for ${model}`, async () => {
      const rows = await outside.darkroom.testDatabase.database.query(
        { name: 'test_waiting', text: 'SELECT 1 FROM upstream_waits WHERE upstream = $1' },
        [model],
      );
      return rows.length === count;
    });

  const eventsOf = async (taskId: string) => {
    const handle = outside.darkroom.temporal.workflow.getHandle(taskId);
    await handle.result().catch(() => undefined);
    return (await handle.fetchHistory()).events ?? [];
  };
  const submitsOf = async (taskId: string): Promise<number> =>
    (await eventsOf(taskId)).filter(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'submitGeneration',
    ).length;

  it('are admitted account by account, and in order within an account', async () => {
    const marker = `marker-${randomUUID()}`;
    const [busy, other] = [await outside.darkroom.createAccount(), await outside.darkroom.createAccount()];
    const first = await start(busy, 'turns', `${marker} first [slow 600000]`);
    await outside.waitForProvider(marker, 'submit');
    const tasks: (readonly [TestAccount, string])[] = [];
    for (const [account, name] of [
      [busy, 'busy-1'],
      [busy, 'busy-2'],
      [busy, 'busy-3'],
      [other, 'other-1'],
    ] as const) {
      tasks.push([account, await start(account, 'turns', `${marker} ${name}`)]);
      await waitForWaiters('turns', tasks.length);
    }

    await end(busy, first);
    for (const [account, taskId] of tasks) {
      const task = await account.client.waitForTerminal(taskId);
      assert.equal(task.status, 'success', JSON.stringify(task));
    }

    const order = (await submitted(marker)).map((prompt) => /(first|busy-\d|other-\d)/.exec(prompt)?.[0]);
    assert.equal(order[0], 'first');
    assert.deepEqual(
      order.filter((name) => name?.startsWith('busy')),
      ['busy-1', 'busy-2', 'busy-3'],
    );
    assert.ok(order.indexOf('other-1') <= 2, order.join());
    for (const account of [busy, other]) await outside.assertSettled(account);
  });

  it('request a slot once when they begin to wait, and once when they have one, however long that takes', async () => {
    const marker = `marker-${randomUUID()}`;
    const account = await outside.darkroom.createAccount();
    const first = await start(account, 'waits', `${marker} first [slow 600000]`);
    await outside.waitForProvider(marker, 'submit');
    const waiting = await start(account, 'waits', `${marker} second`);
    await waitForWaiters('waits', 1);
    // A task that polled repeatedly would have done so by then.
    await letPass(10_000);
    await end(account, first);

    assert.equal((await account.client.waitForTerminal(waiting)).status, 'success');

    assert.equal(await submitsOf(waiting), 2);
    const started = (await eventsOf(waiting)).flatMap((event) => event.activityTaskStartedEventAttributes ?? []);
    assert.ok(started.every(({ attempt }) => attempt === 1));
    await outside.assertSettled(account);
  });

  it('release their position when they are cancelled, and when they time out', async () => {
    const marker = `marker-${randomUUID()}`;
    const account = await outside.darkroom.createAccount();
    const first = await start(account, 'leaves', `${marker} first [slow 600000]`);
    await outside.waitForProvider(marker, 'submit');
    const cancelled = await start(account, 'leaves', `${marker} cancelled`);
    await waitForWaiters('leaves', 1);
    await end(account, cancelled);
    await waitForWaiters('leaves', 0);
    // Far longer than it takes to enter the queue.
    const late = await start(account, 'leaves', `${marker} late`, { timeoutSeconds: 20 });
    await waitForWaiters('leaves', 1);
    assert.equal((await account.client.waitForTerminal(late)).error?.code, 'TASK_TIMEOUT');
    await waitForWaiters('leaves', 0);

    await end(account, first);
    const last = await start(account, 'leaves', `${marker} last`);
    assert.equal((await account.client.waitForTerminal(last)).status, 'success');
    const order = await submitted(marker);
    assert.equal(order.length, 2, order.join());
    await outside.assertSettled(account);
  });

  it('are admitted when the cap is raised in the model file, before those that were created after that', async () => {
    const marker = `marker-${randomUUID()}`;
    const account = await outside.darkroom.createAccount();
    const first = await start(account, 'raised', `${marker} first [slow 600000]`);
    await outside.waitForProvider(marker, 'submit');
    const waiting: string[] = [];
    for (const name of ['second', 'third']) {
      waiting.push(await start(account, 'raised', `${marker} ${name} [slow 600000]`));
      await waitForWaiters('raised', waiting.length);
    }

    await outside.changeUpstream('raised', { concurrency: 3 });
    await waitFor('the new cap is in force', async () => {
      const [row] = await outside.darkroom.testDatabase.database.query<{ cap: number }>({
        name: 'test_cap_in_force',
        text: `SELECT cap FROM upstream_states WHERE upstream = 'raised'`,
      });
      return row?.cap === 3;
    });
    const newcomer = await start(account, 'raised', `${marker} newcomer`);

    await waitFor('three jobs are under way', async () => (await submitted(marker)).length === 3);
    await waitForWaiters('raised', 1);
    for (const taskId of [...waiting, first]) await end(account, taskId);
    assert.equal((await account.client.waitForTerminal(newcomer)).status, 'success');
    const order = (await submitted(marker)).map((prompt) => prompt.split(' ')[1]);
    assert.deepEqual([order[0], order[3]], ['first', 'newcomer'], order.join());
    assert.deepEqual(new Set(order.slice(1, 3)), new Set(['second', 'third']));
    await outside.assertSettled(account);
  });
});

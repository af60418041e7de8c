/**
 * What an operator does with Temporal's own tools, and what the owner of the task sees of it (architecture, "Operators'
 * view"): terminating is an accident that the repair settles, cancelling is a feature.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { listRepairs } from '../../src/tasks/repair/repair-record.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { temporalAddress } from '../support/test-namespace.ts';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';

/**
 * Between an operator's action and its effect on a task that is read: a few seconds, on a busy machine more, but less
 * than until the next heartbeat of a worker that waits (docs/decisions/0024).
 */
const SEEN_WITHIN_MS = 45_000;

const run = promisify(execFile);

describe('an operator with the Temporal CLI', { concurrency: true }, () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
  });
  after(() => outside.stop());

  async function temporalCli(...command: readonly string[]): Promise<string> {
    const cli = process.env['DARKROOM_TEST_TEMPORAL_CLI'] ?? 'temporal';
    const where = ['--address', temporalAddress(), '--namespace', outside.darkroom.namespace];
    const { stdout } = await run(cli, [...command, ...where], { timeout: GIVE_UP_MS });
    return stdout;
  }

  /** A task that is handled for as long as the test lasts, with a callback. */
  async function startHandling(): Promise<{ account: TestAccount; taskId: string; marker: string }> {
    const account = await outside.darkroom.createAccount();
    const marker = `marker-${randomUUID()}`;
    const taskId = await outside.create(account, {
      model: 'test/replicate',
      input: { prompt: `${marker} [slow 600000]` },
      callback: { url: `${outside.receiver.url}/ok/operators` },
    });
    await outside.waitForProvider(marker, 'poll');
    assert.equal((await account.client.get(taskId)).body.data.status, 'handling');
    return { account, taskId, marker };
  }

  /** The task when it has ended, which it does soon. */
  async function seenInTime(account: TestAccount, taskId: string): Promise<ApiTask> {
    const begun = performance.now();
    const task = await account.client.waitForTerminal(taskId);
    const tookMs = performance.now() - begun;
    assert.ok(tookMs <= SEEN_WITHIN_MS, `seen after ${tookMs} ms`);
    return task;
  }

  /** The log lines of its repair for operators, whichever process did it. */
  async function repairsOf(taskId: string): Promise<readonly (readonly unknown[])[]> {
    const { repairs } = await listRepairs(outside.darkroom.testDatabase.database, { size: 100 });
    return repairs.filter((repair) => repair.taskId === taskId).map(({ kind, found }) => [kind, found]);
  }

  it('sees a task that was terminated while handling fail soon after it is read, settled and with a callback', async () => {
    const { account, taskId, marker } = await startHandling();
    await temporalCli('workflow', 'terminate', '--workflow-id', taskId, '--reason', 'by accident');

    const task = await seenInTime(account, taskId);
    assert.equal(task.status, 'fail');
    assert.equal(task.error?.code, 'TASK_FAILED');
    assert.equal(task.error.reason, 'terminated');
    await outside.assertSettled(account);
    const received = await outside.waitForCalledBack(taskId);
    assert.equal(received.length, 1);
    assert.match(received[0]?.body ?? '', /"reason":"terminated"/);
    // Its own workflow can no longer notify the provider.
    await outside.waitForProvider(marker, 'cancel');
    assert.deepEqual(await repairsOf(taskId), [['settled', 'handling']]);
  });

  it('sees a terminated task that no client reads settled by the repair, with a callback', async () => {
    const { account, taskId } = await startHandling();
    await temporalCli('workflow', 'terminate', '--workflow-id', taskId, '--reason', 'by accident');

    // The repair skips a task that changed in the last seconds; its own schedule would come within a minute.
    await waitFor('the repair settles the task', async () => {
      await temporalCli('schedule', 'trigger', '--schedule-id', `${outside.darkroom.installationId}-maintain`);
      return (await outside.callbacksOf(taskId)).length > 0;
    });
    const { body } = await account.client.get(taskId);
    assert.equal(body.data.error?.reason, 'terminated');
    await outside.assertSettled(account);
    assert.deepEqual(await repairsOf(taskId), [['settled', 'handling']]);
  });

  it('sees a task that was cancelled while handling fail as TASK_CANCELLED soon, settled and with a callback', async () => {
    const { account, taskId } = await startHandling();
    await temporalCli('workflow', 'cancel', '--workflow-id', taskId);

    const task = await seenInTime(account, taskId);
    assert.equal(task.status, 'fail');
    assert.equal(task.error?.code, 'TASK_CANCELLED');
    assert.equal(task.error.reason, 'cancelled');
    await outside.assertSettled(account);
    const received = await outside.waitForCalledBack(taskId);
    assert.equal(received.length, 1);
    assert.match(received[0]?.body ?? '', /"code":"TASK_CANCELLED"/);
  });

  it('lists tasks by status, account, model and error code', async () => {
    const account = await outside.darkroom.createAccount();
    const succeeding = await outside.create(account, { model: 'test/openai', input: { prompt: 'a boat' } });
    const failing = await outside.create(account, { model: 'test/openai', input: { prompt: 'a boat [content]' } });
    await account.client.waitForTerminal(succeeding);
    await account.client.waitForTerminal(failing);

    const list = async (query: string): Promise<readonly string[]> => {
      const listed: unknown = JSON.parse(await temporalCli('workflow', 'list', '--query', query, '-o', 'json'));
      return (listed as { execution: { workflowId: string } }[]).map(({ execution }) => execution.workflowId);
    };
    // Lists lag a little behind (Temporal's visibility is eventual).
    const waitForListed = (query: string, taskId: string): Promise<void> =>
      waitFor(`${query} lists the task alone`, async () => {
        const ids = await list(query);
        return ids.length === 1 && ids[0] === taskId;
      });

    await waitForListed(`TaskStatus="success" AND AccountId="${account.id}"`, succeeding);
    await waitForListed(`TaskStatus="fail" AND AccountId="${account.id}" AND Model="test/openai"`, failing);
    await waitForListed(`ErrorCode="TASK_FAILED" AND AccountId="${account.id}"`, failing);
    assert.deepEqual(await list('AccountId="acct_nobody"'), []);
  });
});

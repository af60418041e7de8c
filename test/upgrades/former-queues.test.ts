/**
 * Work that an earlier release started on task queues that had the same names in every installation is done by this
 * one, which serves the former names until nothing is left on them, and leaves a neighbour's work to the neighbour.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { TASK_QUEUES, callbackWorkflowId, isTaskId } from '../../src/domain/workflow-ids.ts';
import { hasWorkOnFormerQueues } from '../../src/temporal/former-work.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const BEFORE_UPGRADE = { name: 'test_made_before', text: 'UPDATE installation SET had_shared_names = true' };

/** A task whose workflow is started again in the way of the earlier release. */
async function startedBefore({ temporal }: Darkroom, account: TestAccount): Promise<string> {
  const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'an old pier' } });
  const { taskId } = body.data;
  assert.ok(isTaskId(taskId));
  const handle = temporal.workflow.getHandle(taskId);
  await waitFor('its workflow is there', () =>
    handle.describe().then(
      () => true,
      () => false,
    ),
  );
  await handle.terminate('to be started by its former name');
  const input = {
    taskId,
    accountId: account.id,
    model: 'darkroom/scene',
    handlingSeconds: 300,
    archivingSeconds: 900,
  };
  await temporal.workflow.start('mediaTask', { workflowId: taskId, taskQueue: TASK_QUEUES.media, args: [input] });
  return taskId;
}

const hasLogged = async ({ logFile }: Darkroom, text: string): Promise<boolean> =>
  (await readFile(logFile, 'utf8')).includes(text);

describe('tasks that an earlier release started', () => {
  let darkroom: Darkroom;
  let account: TestAccount;
  before(async () => {
    darkroom = await startDarkroom();
    await darkroom.workers[0]?.kill('SIGTERM');
    await darkroom.testDatabase.database.query(BEFORE_UPGRADE);
    account = await darkroom.createAccount();
  });
  after(() => darkroom?.stop());

  const isWorkLeft = (): Promise<boolean> => hasWorkOnFormerQueues(darkroom.temporal, darkroom.testDatabase.database);

  it('are done by this one, which then stops polling the former names', async () => {
    const ids = [await startedBefore(darkroom, account), await startedBefore(darkroom, account)];
    await waitFor('Temporal lists them', isWorkLeft);

    await darkroom.workers[0]?.start();

    for (const id of ids) assert.equal((await account.client.waitForTerminal(id)).status, 'success');
    await waitFor('the worker leaves them', () => hasLogged(darkroom, 'no work left on queues with former names'));
    assert.equal(await isWorkLeft(), false);
  });

  it('are also found when they begin later, beside this release', async () => {
    const id = await startedBefore(darkroom, account);

    assert.equal((await account.client.waitForTerminal(id)).status, 'success');
  });
});

describe('tasks of an installation that still uses the former names', () => {
  let namespace: TestNamespace;
  let upgraded: Darkroom;
  let neighbour: Darkroom;
  let ofNeighbour: TestAccount;
  before(async () => {
    namespace = await createTestNamespace();
    [upgraded, neighbour] = await Promise.all([startDarkroom({ namespace }), startDarkroom({ namespace })]);
    for (const { workers, testDatabase } of [upgraded, neighbour]) {
      await workers[0]?.kill('SIGTERM');
      await testDatabase.database.query(BEFORE_UPGRADE);
    }
    ofNeighbour = await neighbour.createAccount();
    await keepWorkOnFormerQueues(upgraded);
    await upgraded.workers[0]?.start();
    await waitFor('it serves the former names', () => hasLogged(upgraded, 'serving queues with former names'));
  });
  after(async () => {
    await Promise.all([upgraded?.stop(), neighbour?.stop()]);
    await namespace?.close();
  });

  /** A workflow of an earlier release that runs for as long as the test. */
  async function keepWorkOnFormerQueues(darkroom: Darkroom): Promise<void> {
    const account = await darkroom.createAccount();
    const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'a pier' } });
    const { taskId } = body.data;
    assert.ok(isTaskId(taskId));
    await darkroom.temporal.workflow.start('deliverCallback', {
      workflowId: callbackWorkflowId(taskId),
      taskQueue: TASK_QUEUES.callbacks,
      args: [{ taskId }],
      startDelay: '1 hour',
    });
  }

  it('are left by an upgraded worker to the one that has their rows', async () => {
    const taken = await startedBefore(neighbour, ofNeighbour);
    const handle = namespace.client.workflow.getHandle(taken);
    await waitFor('the upgraded worker has tried it', async () => {
      const { raw, status } = await handle.describe();
      return status.name !== 'RUNNING' || (raw.pendingActivities ?? []).some(({ attempt }) => Number(attempt) > 1);
    });
    assert.equal((await handle.describe()).status.name, 'RUNNING');

    await neighbour.workers[0]?.start();

    assert.equal((await ofNeighbour.client.waitForTerminal(taken)).status, 'success');
    for (let count = 0; count < 4; count++) {
      const next = await startedBefore(neighbour, ofNeighbour);
      assert.equal((await ofNeighbour.client.waitForTerminal(next)).status, 'success');
    }
  });
});

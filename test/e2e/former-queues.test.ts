/**
 * What an earlier release started on task queues that had the same names in every installation is done by this one, which
 * serves the former names until nothing is left on them.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { TASK_QUEUES, isTaskId } from '../../src/domain/workflow-ids.ts';
import { hasWorkOnFormerQueues } from '../../src/temporal/former-work.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { until } from '../support/until.ts';

const BEFORE_UPGRADE = { name: 'test_made_before', text: 'UPDATE installation SET had_shared_names = true' };

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

  const logs = (text: string) => async (): Promise<boolean> =>
    (await readFile(darkroom.logFile, 'utf8')).includes(text);
  const isWorkLeft = (): Promise<boolean> => hasWorkOnFormerQueues(darkroom.temporal, darkroom.testDatabase.database);

  /** A task whose workflow is started again as the earlier release did it. */
  async function startedBefore(): Promise<string> {
    const { body } = await account.client.create({ model: 'darkroom/scene', input: { prompt: 'an old pier' } });
    const { taskId } = body.data;
    assert.ok(isTaskId(taskId));
    const handle = darkroom.temporal.workflow.getHandle(taskId);
    await until('its workflow is there', () =>
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
    await darkroom.temporal.workflow.start('mediaTask', {
      workflowId: taskId,
      taskQueue: TASK_QUEUES.media,
      args: [input],
    });
    return taskId;
  }

  it('are done by this one, which then leaves the former names alone', async () => {
    const ids = [await startedBefore(), await startedBefore()];
    await until('Temporal lists them', isWorkLeft);

    await darkroom.workers[0]?.start();

    for (const id of ids) assert.equal((await account.client.untilTerminal(id)).status, 'success');
    await until('the worker leaves them', logs('nothing is left on the queues by their former names'));
    assert.equal(await isWorkLeft(), false);
  });

  it('are seen as well where they are begun later, beside this release', async () => {
    const id = await startedBefore();

    assert.equal((await account.client.untilTerminal(id)).status, 'success');
  });
});

/** Two installations, each with its own database and store, in one Temporal namespace. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answerOf } from '../support/busy-server.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const SCENE = { model: 'darkroom/scene', input: { prompt: 'two piers' } };

describe('two installations in one namespace', () => {
  let namespace: TestNamespace;
  let working: Darkroom;
  let idle: Darkroom;
  let [ofWorking, ofIdle]: TestAccount[] = [];
  before(async () => {
    namespace = await createTestNamespace();
    [working, idle] = await Promise.all([startDarkroom({ namespace }), startDarkroom({ namespace })]);
    [ofWorking, ofIdle] = [await working.createAccount(), await idle.createAccount()];
  });
  after(async () => {
    await Promise.all([working?.stop(), idle?.stop()]);
    await namespace?.close();
  });

  const create = async (account: TestAccount | undefined): Promise<string> => {
    assert.ok(account !== undefined);
    return (await account.client.create(SCENE)).body.data.taskId;
  };
  const isBegun = async (workflowId: string): Promise<boolean> => {
    const { events } = await namespace.client.workflow.getHandle(workflowId).fetchHistory();
    return events?.some(({ workflowTaskStartedEventAttributes: started }) => started != null) === true;
  };

  it('do not touch each other’s tasks', async () => {
    await idle.workers[0]?.kill('SIGTERM');
    const waiting = await create(ofIdle);
    await waitFor('its workflow is there', () =>
      isBegun(waiting).then(
        () => true,
        () => false,
      ),
    );

    for (let count = 0; count < 3; count++) {
      const task = await ofWorking?.client.waitForTerminal(await create(ofWorking));
      assert.equal(task?.status, 'success');
    }

    assert.equal(await isBegun(waiting), false);
    await idle.workers[0]?.start();
    assert.equal((await ofIdle?.client.waitForTerminal(waiting))?.status, 'success');
  });

  it('each have schedules of their own, whose passes run on their own workers', async () => {
    const identities: unknown[] = [];
    for (const { installationId, workers } of [working, idle]) {
      const schedule = namespace.client.schedule.getHandle(`${installationId}-maintain`);
      const lastPass = async (): Promise<string | undefined> =>
        (await answerOf(() => schedule.describe())).info.recentActions.at(-1)?.action.workflow.workflowId;
      // An earlier one ran on the worker before its restart. While one runs, another is skipped: asked for again.
      const before = await lastPass();
      let pass: string | undefined;
      await waitFor('a pass has begun', async () => {
        await schedule.trigger();
        pass = await lastPass();
        return pass !== before;
      });
      const handle = namespace.client.workflow.getHandle(pass ?? '');
      await handle.result();
      const { events } = await handle.fetchHistory();
      const begun = events?.flatMap(({ activityTaskStartedEventAttributes: started }) => started?.identity ?? []) ?? [];
      assert.equal(begun.length, 3);
      const pids = new Set(begun.map((identity) => Number(identity.split('@')[0])));
      assert.deepEqual([...pids], [workers[0]?.pid]);
      identities.push(...pids);
    }
    assert.equal(new Set(identities).size, 2);
  });
});

/** Schedules that an earlier release created are those of this one after `migrate`. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { ensureSchedules, retireFormerSchedules, scheduleIds } from '../../src/temporal/schedules.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';

const INSTALLATION = 'inst_ONE';
const CHANGED = `${INSTALLATION}-sweep-unnamed`;

describe('schedules', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await createTestNamespace();
  });
  after(async () => {
    await Promise.all(scheduleIds(INSTALLATION).map((id) => namespace.client.schedule.getHandle(id).delete()));
    await namespace.close();
  });

  it('of an earlier release are updated, and stay paused if they were', async () => {
    const { schedule } = namespace.client;
    await schedule.create({
      scheduleId: CHANGED,
      spec: { intervals: [{ every: '7 minutes' }] },
      action: { type: 'startWorkflow', workflowType: 'sweepObjects', taskQueue: 'elsewhere', args: [] },
      policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '1 year' },
      state: { paused: true, note: 'the store is being moved' },
    });

    const { updated } = await ensureSchedules(namespace.client, INSTALLATION);

    assert.deepEqual(updated, [CHANGED]);
    const { spec, action, policies, state } = await schedule.getHandle(CHANGED).describe();
    assert.deepEqual(
      spec.intervals?.map(({ every }) => every),
      [3_600_000],
    );
    assert.notEqual(action.taskQueue, 'elsewhere');
    assert.deepEqual(action.args, [{ target: 'unnamed' }]);
    assert.deepEqual([policies.overlap, policies.catchupWindow], [ScheduleOverlapPolicy.SKIP, 60_000]);
    assert.deepEqual([state.paused, state.note], [true, 'the store is being moved']);
  });

  it('that are up to date are left unchanged', async () => {
    await ensureSchedules(namespace.client, INSTALLATION);

    assert.deepEqual((await ensureSchedules(namespace.client, INSTALLATION)).updated, []);
  });

  it('with names of an earlier release are deleted, and so are the passes that they had started', async () => {
    const { client } = namespace;
    for (const scheduleId of ['darkroom-reconcile', 'darkroom-meter-storage']) {
      await client.schedule.create({
        scheduleId,
        spec: { intervals: [{ every: '60 minutes' }] },
        action: { type: 'startWorkflow', workflowType: 'reconcile', taskQueue: 'media', args: [] },
        state: scheduleId === 'darkroom-reconcile' ? {} : { paused: true, note: 'the ledger is closed' },
      });
    }
    const former = client.schedule.getHandle('darkroom-reconcile');
    await former.trigger();
    let pass: string | undefined;
    await waitFor('a pass has begun', async () => {
      pass = (await former.describe()).info.recentActions[0]?.action.workflow.workflowId;
      return pass !== undefined;
    });
    await ensureSchedules(client, INSTALLATION);

    const { deleted, left } = await retireFormerSchedules(client, INSTALLATION);

    assert.deepEqual([deleted, left], [['darkroom-reconcile', 'darkroom-meter-storage'], []]);
    const { status } = await client.workflow.getHandle(pass ?? '').describe();
    assert.equal(status.name, 'TERMINATED');
    const states = scheduleIds(INSTALLATION).map(async (id) => (await client.schedule.getHandle(id).describe()).state);
    assert.deepEqual(
      (await Promise.all(states)).map(({ paused, note }) => [paused, paused ? note : '']),
      [
        [false, ''],
        [true, 'the store is being moved'],
        [true, 'the ledger is closed'],
      ],
    );
    assert.deepEqual((await retireFormerSchedules(client, INSTALLATION)).deleted, []);
  });

  it('with names of an earlier release leave ours paused also when no reason was given', async () => {
    const { client } = namespace;
    await client.schedule.create({
      scheduleId: 'darkroom-sweep-deleted',
      spec: { intervals: [{ every: '60 minutes' }] },
      action: { type: 'startWorkflow', workflowType: 'sweepObjects', taskQueue: 'media', args: [] },
      state: { paused: true },
    });

    await retireFormerSchedules(client, INSTALLATION);

    const { state } = await client.schedule.getHandle(`${INSTALLATION}-maintain`).describe();
    assert.deepEqual([state.paused, state.note], [true, 'as darkroom-sweep-deleted was']);
  });
});

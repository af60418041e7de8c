/** Schedules that an earlier release created are those of this one after `migrate`. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { ensureSchedules, scheduleIds } from '../../src/temporal/schedules.ts';
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
});

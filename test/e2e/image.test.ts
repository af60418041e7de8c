/**
 * The main use case of a new user: create, poll, download, keep. Stored outputs are promoted by the launcher and the
 * worker of a whole Darkroom, and maintained by its Schedules.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { promotionWorkflowId } from '../../src/domain/workflow-ids.ts';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { listStored } from '../http/stored-outputs.ts';
import { answerOf } from '../support/busy-server.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

describe('an image from one HTTP call', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom();
  });
  after(() => darkroom.stop());

  // Proves S4.1-1.
  it('returns an id immediately and serves a real PNG of the requested size', async () => {
    const { client } = await darkroom.createAccount();

    const created = await client.create({
      model: 'darkroom/scene',
      input: { prompt: 'a lighthouse at sunset', aspect_ratio: '16:9', resolution: '1k' },
    });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    assert.match(created.body.data.taskId, /^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/);

    const task = await client.waitForTerminal(created.body.data.taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    const [output] = task.output ?? [];
    assert.ok(output);
    const response = await fetch(output.url);
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.equal(bytes.subarray(1, 4).toString('latin1'), 'PNG');
    // IHDR: width and height are the first two words of the first chunk.
    assert.equal(bytes.readUInt32BE(16), output.width);
    assert.equal(bytes.readUInt32BE(20), output.height);
    assert.equal(bytes.length, output.sizeBytes);
    assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);
  });

  // Proves C5-5.
  it('can be promoted, which is accepted immediately and done soon, by a workflow that can be found by the output id', async () => {
    const { client } = await darkroom.createAccount();
    const created = await client.create({ model: 'darkroom/scene', input: { prompt: 'a lighthouse at sunset' } });
    const task = await client.waitForTerminal(created.body.data.taskId);
    const [output] = task.output ?? [];
    assert.ok(output);

    const answers = await Promise.all(
      Array.from({ length: 8 }, () => client.send('POST', '/v1/storages/promote', [output.id])),
    );

    const decisions = answers.map(({ body }) => body.data as unknown as { accepted: readonly string[] });
    assert.equal(decisions.filter(({ accepted }) => accepted.length === 1).length, 1);
    await waitFor('the output is persistent', async () => {
      const [item] = (await listStored({ client })).items;
      return item?.storage_tier === 'persistent' && item.status === 'available' && item.retainUntil === 0;
    });
    const workflow = darkroom.temporal.workflow.getHandle(promotionWorkflowId(output.id));
    assert.deepEqual(await workflow.result(), { state: 'persistent' });
    const [item] = (await listStored({ client }, '?storage_tier=persistent')).items;
    const bytes = Buffer.from(await (await fetch(item?.url ?? '')).arrayBuffer());
    assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);
    const rows = await darkroom.testDatabase.database.query({
      name: 'test_persistent_bytes',
      text: 'SELECT sum(persistent_bytes)::float8 AS bytes FROM account_counters',
    });
    assert.deepEqual(rows, [{ bytes: output.sizeBytes }]);
  });

  it('is maintained by passes that Schedules start', async () => {
    for (const id of scheduleIds(darkroom.installationId)) {
      const handle = darkroom.temporal.schedule.getHandle(id);
      await handle.trigger();
      await waitFor(`${id} ends well`, async () => {
        const { info } = await answerOf(() => handle.describe());
        const [action] = info.recentActions;
        if (action === undefined) return false;
        const { workflowId, firstExecutionRunId } = action.action.workflow;
        const pass = darkroom.temporal.workflow.getHandle(workflowId, firstExecutionRunId);
        const { status } = await answerOf(() => pass.describe());
        assert.notEqual(status.name, 'FAILED');
        return status.name === 'COMPLETED';
      });
    }
  });
});

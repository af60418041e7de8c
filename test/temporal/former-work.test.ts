/**
 * Whether any work of ours is left on the former names of the queues, however much work of a neighbour's is there as
 * well.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TASK_QUEUES, isTaskId, stopWorkflowId } from '../../src/domain/workflow-ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { hasWorkOnFormerQueues } from '../../src/temporal/former-work.ts';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const PAGE_SIZE = 2;
/** Several pages, the last of them not full. */
const OF_NEIGHBOUR = 9;

describe('work on the former queue names', () => {
  let namespace: TestNamespace;
  let [ours, neighbour]: TaskRoom[] = [];
  before(async () => {
    [namespace, ours, neighbour] = await Promise.all([createTestNamespace(), openTaskRoom(), openTaskRoom()]);
  });
  after(async () => {
    await Promise.all([ours?.close(), neighbour?.close()]);
    await namespace?.close();
  });

  /** A workflow of an earlier release that no worker serves. */
  async function leave(room: TaskRoom | undefined, workflowIdOf: (taskId: TaskId) => string): Promise<string> {
    assert.ok(room !== undefined);
    const { taskId } = await room.creator.create(await room.newCaller(), body(), undefined);
    assert.ok(isTaskId(taskId));
    const workflowId = workflowIdOf(taskId);
    await namespace.client.workflow.start('mediaTask', { workflowId, taskQueue: TASK_QUEUES.media, args: [] });
    return workflowId;
  }

  const countListed = async (): Promise<number> => (await namespace.client.workflow.count()).count;
  const isLeft = (room: TaskRoom | undefined, signal?: AbortSignal): Promise<boolean> => {
    assert.ok(room !== undefined);
    return hasWorkOnFormerQueues(namespace.client, room.database, { pageSize: PAGE_SIZE, signal });
  };

  it('is found behind more than one page of newer work of another installation', async () => {
    const workflowId = await leave(ours, stopWorkflowId);
    for (let count = 0; count < OF_NEIGHBOUR; count++) await leave(neighbour, (taskId) => taskId);
    await waitFor('Temporal lists all of it', async () => (await countListed()) === OF_NEIGHBOUR + 1);

    assert.equal(await isLeft(ours), true);

    await namespace.client.workflow.getHandle(workflowId).terminate();
    await waitFor('ours is over', async () => !(await isLeft(ours)));
    assert.equal(await isLeft(neighbour), true);
  });

  it('is no longer polled for once the worker stops', async () => {
    await assert.rejects(isLeft(ours, AbortSignal.abort()), { name: 'AbortError' });
  });
});

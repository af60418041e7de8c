import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TASK_STATUSES, isTerminal } from '@darkroom/api/facts/task-status';
import { observeTask } from '../../src/domain/task-status.ts';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import type { WorkflowState } from '../../src/domain/task-status.ts';

const CONDITIONS: readonly WorkflowState[] = ['unknown', 'missing', 'running', 'completed', 'abnormal'];
const OPEN: readonly TaskStatus[] = ['queued', 'handling', 'archiving'];

describe('the states of a task', () => {
  // Proves S2.4-1, S3-1.
  it('are those of the specification, in the order in which a task passes through them', () => {
    assert.deepEqual(TASK_STATUSES, ['queued', 'handling', 'archiving', 'success', 'fail']);
    assert.deepEqual(TASK_STATUSES.filter(isTerminal), ['success', 'fail']);
  });
});

describe('what a reader sees of a task', () => {
  it('is always the status of its row, whatever the workflow is doing', () => {
    for (const status of TASK_STATUSES) {
      for (const workflow of CONDITIONS) {
        for (const hasOutboxRow of [true, false]) {
          assert.equal(observeTask(status, workflow, hasOutboxRow).status, status);
        }
      }
    }
  });

  it('needs no repair once it is terminal', () => {
    for (const workflow of CONDITIONS) {
      assert.equal(observeTask('success', workflow, false).repair, 'none');
      assert.equal(observeTask('fail', workflow, false).repair, 'none');
    }
  });

  it('needs no repair while the workflow runs, or when Temporal was unavailable', () => {
    for (const status of OPEN) {
      assert.equal(observeTask(status, 'running', false).repair, 'none');
      assert.equal(observeTask(status, 'unknown', false).repair, 'none');
    }
  });

  it('is settled when the workflow ended without settling it', () => {
    for (const status of OPEN) {
      assert.equal(observeTask(status, 'abnormal', false).repair, 'settle');
    }
  });

  it('is started again when the workflow has settled it and the database has lost the commit', () => {
    for (const status of OPEN) {
      assert.equal(observeTask(status, 'completed', false).repair, 'restart');
      assert.equal(observeTask(status, 'completed', true).repair, 'none');
    }
  });

  it('is started again when there is no workflow, and never while a start is still pending in the outbox', () => {
    for (const status of OPEN) {
      assert.equal(observeTask(status, 'missing', false).repair, 'restart');
      assert.equal(observeTask(status, 'missing', true).repair, 'none');
    }
  });
});

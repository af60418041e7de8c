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

  for (const [what, workflow, hasOutboxRow, repair] of [
    ['needs no repair while the workflow runs', 'running', false, 'none'],
    ['needs no repair when Temporal was unavailable', 'unknown', false, 'none'],
    ['is settled when the workflow ended without settling it', 'abnormal', false, 'settle'],
    [
      'is started again when the database has lost the commit of a workflow that settled it',
      'completed',
      false,
      'restart',
    ],
    ['needs no repair after such a loss while a start is pending in the outbox', 'completed', true, 'none'],
    ['is started again when there is no workflow', 'missing', false, 'restart'],
    ['needs no repair without a workflow while a start is pending in the outbox', 'missing', true, 'none'],
  ] as const) {
    it(what, () => {
      for (const status of OPEN) assert.equal(observeTask(status, workflow, hasOutboxRow).repair, repair, status);
    });
  }
});

/** From the error of an activity to the reason of a failed task; media-task.test.ts has those that it states itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { reasonOf } from '../../workflows/failure.ts';

function ofActivity(cause: Error): ActivityFailure {
  return new ActivityFailure('Activity task failed', 'submitGeneration', '1', 'NON_RETRYABLE_FAILURE', 'test', cause);
}

describe('reasonOf', () => {
  it('is cancelled when the activity was cancelled, or the workflow before it', () => {
    assert.equal(reasonOf(ofActivity(new CancelledFailure('cancelled'))), 'cancelled');
    assert.equal(reasonOf(new CancelledFailure('cancelled')), 'cancelled');
  });

  it('is timed_out when the activity timed out in Temporal', () => {
    assert.equal(reasonOf(ofActivity(new TimeoutFailure('late', undefined, 'START_TO_CLOSE'))), 'timed_out');
  });

  it('is provider_error when the failure is unknown', () => {
    assert.equal(reasonOf(ofActivity(ApplicationFailure.nonRetryable('', 'TypeError'))), 'provider_error');
    assert.equal(reasonOf(new Error('of no kind')), 'provider_error');
    assert.equal(reasonOf(undefined), 'provider_error');
  });
});

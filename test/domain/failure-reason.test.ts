import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAILURE_REASONS, failureFace, isFailureReason } from '../../src/domain/failure-reason.ts';

describe('a failure reason', () => {
  // Proves S7-8, C3-21.
  it('is reported under one of the error codes of the contract, with a message of its own', () => {
    const codes = Object.fromEntries(FAILURE_REASONS.map((reason) => [reason, failureFace(reason).code]));

    assert.deepEqual(codes, {
      content_rejected: 'TASK_FAILED',
      input_unreachable: 'INVALID_REQUEST',
      input_invalid: 'INVALID_REQUEST',
      provider_unavailable: 'TASK_FAILED',
      provider_error: 'TASK_FAILED',
      no_output: 'TASK_FAILED',
      outcome_unknown: 'TASK_FAILED',
      timed_out: 'TASK_TIMEOUT',
      cancelled: 'TASK_CANCELLED',
      terminated: 'TASK_FAILED',
      storage_unavailable: 'STORAGE_UNAVAILABLE',
      model_unavailable: 'MODEL_UNAVAILABLE',
    });
    assert.equal(new Set(FAILURE_REASONS.map((reason) => failureFace(reason).message)).size, FAILURE_REASONS.length);
  });

  // Proves S7-12.
  it('does not invite retries of what would fail again', () => {
    const final = FAILURE_REASONS.filter((reason) => !failureFace(reason).retryable);

    assert.deepEqual(final, ['content_rejected', 'input_invalid', 'cancelled', 'model_unavailable']);
  });

  it('is recognised among other texts, members of every object included', () => {
    for (const reason of FAILURE_REASONS) assert.equal(isFailureReason(reason), true);
    for (const other of ['', 'Cancelled', 'constructor', '__proto__', 'toString', null, undefined, 1, ['cancelled']]) {
      assert.equal(isFailureReason(other), false, String(other));
    }
  });
});

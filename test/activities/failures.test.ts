/** What Temporal's histories keep of failures: the forms that workflows and recorded histories know. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CancelledFailure, asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { translateFailures } from '../../activities/failures.ts';
import { invalidInput, permanentFailure, retryableFailure } from '../../src/generation/failure.ts';
import { DeadlinePassedError, TaskEndedError, WorkerStoppingError } from '../../src/generation/stopping.ts';
import { silentLogger } from '../../src/telemetry/log.ts';

/** What an activity that throws an error reports. */
async function reported(thrown: Error): Promise<unknown> {
  const running = {
    info: { attempt: 1, isLocal: true, taskQueue: 'media' },
    cancellationSignal: new AbortController().signal,
  } as unknown as Context;
  const fail = (): Promise<never> => Promise.reject(thrown);
  const activity = translateFailures('submitGeneration', silentLogger(), fail);
  return asyncLocalStorage.run(running, activity).catch((failure: unknown) => failure);
}

async function facts(error: Error): Promise<unknown> {
  const failure = await reported(error);
  assert.ok(failure instanceof ApplicationFailure, String(failure));
  const { message, type, nonRetryable, details, nextRetryDelay } = failure;
  return { message, type, nonRetryable, details: details ?? [], nextRetryDelay };
}

const NONE = { details: [], nextRetryDelay: undefined };

describe('the failure of an activity', () => {
  it('has the reason as its type, and ends the task if it is permanent', async () => {
    const type = 'content_rejected';
    assert.deepEqual(await facts(permanentFailure(type)), {
      ...NONE,
      message: 'permanent: content_rejected',
      type,
      nonRetryable: true,
    });
  });

  it('has the validation error of the input as its only detail', async () => {
    assert.deepEqual(await facts(invalidInput('too_large', ['image_urls', '0'])), {
      ...NONE,
      message: 'permanent: input_invalid',
      type: 'input_invalid',
      nonRetryable: true,
      details: [{ kind: 'too_large', field: 'image_urls.0' }],
    });
  });

  it('is retried after the time that it states, or when the policy says so', async () => {
    const failure = { message: 'passing: provider_unavailable', type: 'provider_unavailable', nonRetryable: false };

    assert.deepEqual(await facts(retryableFailure('provider_unavailable', 4_000)), {
      ...NONE,
      ...failure,
      nextRetryDelay: 4_000,
    });
    assert.deepEqual(await facts(retryableFailure('provider_unavailable')), { ...NONE, ...failure });
  });

  it('is that of a stopping worker, a deadline or a cancellation when the work was stopped', async () => {
    const stops = { message: 'the worker stops', type: 'WorkerShutdown', nonRetryable: false };
    const late = { message: 'permanent: timed_out', type: 'timed_out', nonRetryable: true };

    assert.deepEqual(await facts(new WorkerStoppingError()), { ...NONE, ...stops });
    assert.deepEqual(await facts(new DeadlinePassedError()), { ...NONE, ...late });
    const over = await reported(new TaskEndedError());
    assert.ok(over instanceof CancelledFailure && over.message === 'the task has ended');
  });
});

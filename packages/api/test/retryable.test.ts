/** What a client may do after an error, for every row of the table of kinds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ApiError,
  UnreachableError,
  apiErrorOf,
  isOutcomeUnknown,
  isRetryRequested,
  isRetryable,
} from '../src/client/api-client.ts';
import { ERROR_KINDS, factsOf } from '../src/facts/error-kinds.ts';
import type { ErrorKind } from '../src/facts/error-kinds.ts';

/** What a caller may conclude from a response: retryable, retry requested, outcome unknown. */
const CONCLUSIONS: Readonly<Partial<Record<ErrorKind, string>>> = {
  request_timeout: 'retryable',
  response_in_progress: 'retryable requested',
  rate_limited: 'retryable requested',
  internal: 'retryable unknown',
  // On the wire they are internal errors like others: only the operator reads the difference.
  configuration_invalid: 'retryable unknown',
  operator_action_required: 'retryable unknown',
  unavailable: 'retryable requested unknown',
};

function conclusionsFrom(error: unknown): string {
  const words = [
    isRetryable(error) ? 'retryable' : '',
    isRetryRequested(error) ? 'requested' : '',
    isOutcomeUnknown(error) ? 'unknown' : '',
  ];
  return words.filter((word) => word !== '').join(' ');
}

describe('what a client may do after an error', () => {
  for (const kind of Object.keys(ERROR_KINDS) as readonly ErrorKind[]) {
    it(`follows from the kind ${kind}`, () => {
      const error = apiErrorOf(kind);

      assert.equal(conclusionsFrom(error), CONCLUSIONS[kind] ?? '');
      assert.equal(isRetryable(error), factsOf(error.kind).isRetryable);
    });
  }

  it('follows from the status of a response without our code', () => {
    const statuses = [400, 401, 403, 404, 408, 409, 418, 429, 500, 502, 503, 504];

    const conclusions = statuses.map((status) => {
      const error = new ApiError(new Response(null, { status }), 'HTTP', '');
      return `${status} ${conclusionsFrom(error)}`.trim();
    });

    assert.deepEqual(conclusions, [
      '400',
      '401',
      '403',
      '404',
      '408 retryable',
      '409 retryable requested',
      '418',
      '429 retryable requested',
      '500 retryable unknown',
      '502 retryable unknown',
      '503 retryable requested unknown',
      '504 retryable unknown',
    ]);
  });

  it('is to retry with care when no response was received, and nothing after any other error', () => {
    assert.equal(conclusionsFrom(new UnreachableError('closed')), 'retryable unknown');
    assert.equal(conclusionsFrom(new TypeError('a fault of ours')), '');
    assert.equal(conclusionsFrom(undefined), '');
  });
});

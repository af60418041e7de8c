/**
 * Another service that offers this same API (spec §2 to §4, contract §2 to §4): installations can be chained. Our task
 * id is sent as its `Idempotency-Key`, so a submit may be repeated and creates one task there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureReason } from '../../domain/failure-reason.ts';
import type { Consumption } from '../../domain/provider-usage.ts';
import { consumptionOf } from '../consumption.ts';
import { isWebAddress, jobIdAt, listAt, textAt, valueAt } from '../json-answer.ts';
import type { UpstreamProtocol } from '../protocols.ts';
import { ProviderFailure, ProviderUnreachable } from '../provider.ts';
import type { CancelAnswer, CancelOutcome, JobState, ProducedFile, Provider } from '../provider.ts';
import { createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps } from '../upstream-calls.ts';

/** Derived outputs that were not requested (contract §3 `output[]`); archiving makes its own. */
const DERIVED_TYPES = ['first_frame', 'last_frame', 'thumbnail'];
/** Reasons that mean the same to our client as to theirs; the others concern that service's task, not ours. */
const SHARED_REASONS: readonly FailureReason[] = [
  'content_rejected',
  'input_unreachable',
  'input_invalid',
  'no_output',
  'provider_unavailable',
];

/** A task cancelled there ends after a moment, and then reports what it costs: polled for some seconds at most. */
const BILL_POLLS = 6;
const BILL_POLL_MS = 500;

/** The adapter of protocol `tasks`. */
export function createTasksProvider(deps: HttpProviderDeps): Provider {
  const calls = createUpstreamCalls('tasks', deps);
  return {
    protocol: 'tasks',
    isSubmitRepeatable: true,
    worksWhileSubmitting: false,
    download: calls.download,

    submit(request, call) {
      const { upstream, taskId } = request;
      return calls.submitJob(request, call, {
        path: '/tasks',
        body: { model: upstream.model, input: { ...request.input, ...upstream.parameters } },
        headers: { 'idempotency-key': taskId },
        rejectionReason,
        jobId: (answer) => jobIdAt(answer, 'data', 'taskId'),
      });
    },

    async poll(request, jobId, call) {
      const answer = await calls.query(request, call, {
        method: 'GET',
        path: `/tasks/${encodeURIComponent(jobId)}`,
        definiteStatuses: [404, 410],
      });
      if (answer.status >= 400) throw new ProviderFailure('provider_error');
      const detail = valueAt(answer.json, 'data');
      switch (textAt(detail, 'status')) {
        case 'success': {
          const files = listAt(detail, 'output').flatMap(fileOf);
          if (files.length === 0) throw new ProviderFailure('no_output', { consumption: costOf(detail) });
          return { kind: 'done', files, ...costOf(detail) };
        }
        case 'fail':
          throw new ProviderFailure(failureReason(detail), {
            isUnbilled: billOf(detail).billedMicroUsd === 0n,
            consumption: costOf(detail),
          });
        case undefined:
          throw new ProviderUnreachable(
            { status: answer.status, code: 'NO_STATE' },
            { retryAfterMs: answer.retryAfterMs },
          );
        default:
          return running(detail, answer.retryAfterMs);
      }
    },

    async cancel(request, jobId, call) {
      const answer = await calls.query(request, call, {
        method: 'POST',
        path: `/tasks/${encodeURIComponent(jobId)}/cancel`,
        definiteStatuses: [400, 404, 405, 409, 410, 422],
      });
      // The specification itself has no cancel: a service other than ours may lack the path.
      if (answer.status === 404 || answer.status === 405) return { outcome: 'unsupported' };
      if (answer.status >= 400) return { outcome: 'too_late' };
      // Contract §4: the response shows the task as it is and may still say `handling`; from archiving on, a cancel
      // changes nothing.
      let detail = valueAt(answer.json, 'data');
      for (let polls = 0; !isOver(detail) && polls < BILL_POLLS; polls++) {
        await sleep(BILL_POLL_MS, undefined, { signal: call.signal });
        const again = await calls.query(request, call, {
          method: 'GET',
          path: `/tasks/${encodeURIComponent(jobId)}`,
          definiteStatuses: [],
        });
        detail = valueAt(again.json, 'data');
      }
      return { outcome: cancelOutcome(detail), ...billOf(detail) };
    },
  };
}

function isOver(detail: unknown): boolean {
  const status = textAt(detail, 'status');
  return status === 'success' || status === 'fail';
}

function cancelOutcome(detail: unknown): CancelOutcome {
  switch (textAt(detail, 'status')) {
    case 'success':
    case 'archiving':
      return 'too_late';
    case 'fail':
      return textAt(detail, 'error', 'code') === 'TASK_CANCELLED' ? 'cancelled' : 'too_late';
    default:
      return 'cancelled';
  }
}

/** What that service charged for a task that has ended (contract §3 `billing`). */
function costOf(detail: unknown): Consumption {
  return consumptionOf({ cost: textAt(detail, 'billing', 'captured') });
}

function billOf(detail: unknown): Pick<CancelAnswer, 'billedMicroUsd'> {
  const { costMicroUsd } = isOver(detail) ? costOf(detail) : {};
  return costMicroUsd === undefined ? {} : { billedMicroUsd: costMicroUsd };
}

function running(detail: unknown, pollAfterMs: number | undefined): JobState {
  const progress = valueAt(detail, 'progress');
  const isKnown = typeof progress === 'number' && progress >= 0 && progress <= 1;
  return {
    kind: 'running',
    ...(isKnown ? { progress } : {}),
    ...(pollAfterMs === undefined ? {} : { pollAfterMs }),
  };
}

function fileOf(output: unknown): readonly ProducedFile[] {
  if (DERIVED_TYPES.includes(textAt(output, 'type') ?? '')) return [];
  const url = textAt(output, 'url');
  return url !== undefined && isWebAddress(url) ? [{ from: 'url', url }] : [];
}

function failureReason(detail: unknown): FailureReason {
  const reason = SHARED_REASONS.find((shared) => shared === textAt(detail, 'error', 'reason'));
  if (reason !== undefined) return reason;
  switch (textAt(detail, 'error', 'code')) {
    case 'INVALID_REQUEST':
      return 'input_invalid';
    case 'MODEL_UNAVAILABLE':
      return 'model_unavailable';
    default:
      return 'provider_error';
  }
}

function rejectionReason(status: number, json: unknown): FailureReason | undefined {
  const code = textAt(json, 'error_code');
  // The key was used with another body: work of ours may run there, and its id cannot be obtained.
  if (code === 'IDEMPOTENCY_KEY_MISMATCH') throw new ProviderFailure('outcome_unknown');
  return status === 400 && code === 'MODEL_UNAVAILABLE' ? 'model_unavailable' : undefined;
}

export const tasksProtocol: UpstreamProtocol = { name: 'tasks', create: createTasksProvider };

/**
 * Predictions of a container that Cog built, over its own HTTP API. Source: Cog's "HTTP API" page.
 *
 * The API has no request for an existing prediction: its result is in the response to the request that started it, or
 * in a webhook, which we treat only as a hint. So the work is done while submitting, by `PUT /predictions/{id}` with
 * our task id. While the prediction runs, the same PUT does not start another one; the container stops it when the
 * connection ends, and a submit that is repeated after that runs it again, which costs its owner time but no money.
 * The API uses no credential: one that the binding names is for the proxy in front of it.
 *
 * The container would fetch URLs from inside its own network, wherever they lead; so it gets the media themselves, as
 * data URLs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureReason } from '../../domain/failure-reason.ts';
import { consumptionOf } from '../consumption.ts';
import { withMediaInline } from '../inline-media.ts';
import { textAt, valueAt } from '../json-answer.ts';
import { filesIn } from '../output-files.ts';
import type { UpstreamProtocol } from '../protocols.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../provider.ts';
import type { FinishedWork, GenerationRequest, Provider, ProviderCall } from '../provider.ts';
import { createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps } from '../upstream-calls.ts';

/** "When all prediction slots are in use, the server returns 409 Conflict." */
const NO_SLOT = 409;
/** How often to check whether an earlier attempt's prediction has ended. */
const JOIN_EVERY_MS = 1_000;
/** A container that has not received our cancel request by then stops with the connection. */
const CANCEL_TIMEOUT_MS = 2_000;
/** Older models reject content with only these words. */
const CONTENT_WORDS = /\bNSFW\b|flagged as sensitive/i;

/** The adapter of protocol `cog`. A binding's model is only its name in records: a container holds one model. */
export function createCogProvider(deps: HttpProviderDeps): Provider {
  const calls = createUpstreamCalls('cog', deps);

  const cancel = async (request: GenerationRequest): Promise<void> => {
    const call = { signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) };
    const path = `${pathOf(request)}/cancel`;
    // A prediction that is already gone needs no cancelling, and one that cannot be reached ends with its connection.
    await calls
      .query(request, call, { method: 'POST', path, isBodyOptional: true, definiteStatuses: [404] })
      .catch(() => undefined);
  };

  const predict = async (request: GenerationRequest, call: ProviderCall): Promise<FinishedWork> => {
    const input = { ...(await withMediaInline(request)), ...request.upstream.parameters };
    for (;;) {
      const json = await calls.submit(request, call, {
        method: 'PUT',
        path: pathOf(request),
        body: { input },
        isSynchronous: true,
        rejectionStatuses: [NO_SLOT],
        rejectionReason,
      });
      switch (textAt(json, 'status')) {
        case 'succeeded':
          return {
            kind: 'done',
            files: filesIn(valueAt(json, 'output')),
            ...consumptionOf({ usage: { seconds: valueAt(json, 'metrics', 'predict_time') } }),
          };
        case 'failed':
          throw new ProviderFailure(failureReason(textAt(json, 'error')));
        // Cancelled by another client of the container; our own cancellation never gets here.
        case 'canceled':
          throw new ProviderFailure('provider_error');
        case 'starting':
        case 'processing':
          // A prediction of an earlier attempt, which the container has not yet detected as abandoned.
          await sleep(JOIN_EVERY_MS, undefined, { signal: call.signal });
          break;
        default:
          throw new ProviderUnknown({ code: 'NO_STATE' });
      }
    }
  };

  return {
    protocol: 'cog',
    isSubmitRepeatable: true,
    worksWhileSubmitting: true,
    takesMediaAsFiles: true,
    download: calls.download,

    async submit(request, call) {
      try {
        const done = await predict(request, call);
        if (done.files.length === 0) throw new ProviderFailure('no_output');
        return done;
      } catch (error) {
        if (!call.signal.aborted || error instanceof ProviderRejection) throw error;
        // Older containers do not detect that the connection has ended.
        await cancel(request);
        throw call.signal.reason;
      }
    },

    /** There is no job to poll: an id can only come from a definition that was changed to another protocol. */
    poll: () => Promise.reject(new ProviderFailure('outcome_unknown')),

    cancel: () => Promise.resolve({ outcome: 'unsupported' as const }),
  };
}

function pathOf({ taskId }: GenerationRequest): string {
  return `/predictions/${encodeURIComponent(taskId)}`;
}

/** The error is the exception's text; a failed input check of the model and a bug in it look the same. */
function failureReason(error: string | undefined): FailureReason {
  return error !== undefined && CONTENT_WORDS.test(error) ? 'content_rejected' : 'provider_error';
}

function rejectionReason(status: number): FailureReason | undefined {
  return status === NO_SLOT ? 'provider_unavailable' : undefined;
}

export const cogProtocol: UpstreamProtocol = { name: 'cog', create: createCogProvider };

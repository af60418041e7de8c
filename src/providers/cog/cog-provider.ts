/**
 * Predictions of a container that Cog built, over its own HTTP API. Source: Cog's "HTTP API" page.
 *
 * It has no way to ask for a prediction: what one brought is in the answer to the request that began it, or in a webhook,
 * which we only take for a hint. So work is done while submitting, by `PUT /predictions/{id}` under our task id. As long
 * as the prediction runs the same PUT starts no other one; the container stops it when the connection ends, and a submit
 * repeated after that runs it anew, which costs its owner time and nobody money. It knows no credential: one that the
 * binding names is for the proxy in front of it.
 *
 * The container would fetch addresses from inside its own network, wherever they lead; so it gets the media themselves,
 * as data URLs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureReason } from '../../domain/failure-reason.ts';
import { withMediaInline } from '../inline-media.ts';
import { textAt, valueAt } from '../json-answer.ts';
import { filesIn } from '../output-files.ts';
import { ProviderUnknown } from '../provider-unknown.ts';
import { ProviderFailure, ProviderRefusal } from '../provider.ts';
import type { GenerationRequest, ProducedFile, Provider, ProviderCall } from '../provider.ts';
import { createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps } from '../upstream-calls.ts';

/** "When all prediction slots are in use, the server returns 409 Conflict." */
const NO_SLOT = 409;
/** How soon to look again whether an earlier attempt's prediction is over. */
const JOIN_EVERY_MS = 1_000;
/** A container that has not heard our cancel by then stops with the connection. */
const CANCEL_TIMEOUT_MS = 2_000;
/** Older models refuse content with these words alone. */
const CONTENT_WORDS = /\bNSFW\b|flagged as sensitive/i;

/** The adapter of protocol `cog`. A binding's model only names it in records: a container holds one model. */
export function createCogProvider(deps: HttpProviderDeps): Provider {
  const calls = createUpstreamCalls('cog', deps);

  const cancel = async (request: GenerationRequest): Promise<void> => {
    const call = { signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) };
    const path = `${pathOf(request)}/cancel`;
    // A prediction that is gone already needs no cancelling, and one that cannot be reached ends with its connection.
    await calls
      .ask(request, call, { method: 'POST', path, isBodyOptional: true, definiteStatuses: [404] })
      .catch(() => undefined);
  };

  const predict = async (request: GenerationRequest, call: ProviderCall): Promise<readonly ProducedFile[]> => {
    const input = { ...(await withMediaInline(request)), ...request.upstream.parameters };
    for (;;) {
      const json = await calls.submit(request, call, {
        method: 'PUT',
        path: pathOf(request),
        body: { input },
        isSynchronous: true,
        refusalStatuses: [NO_SLOT],
        refusalReason,
      });
      switch (textAt(json, 'status')) {
        case 'succeeded':
          return filesIn(valueAt(json, 'output'));
        case 'failed':
          throw new ProviderFailure(failureReason(textAt(json, 'error')));
        // By whoever else looks after the container; a cancellation of ours never comes to this.
        case 'canceled':
          throw new ProviderFailure('provider_error');
        case 'starting':
        case 'processing':
          // An earlier attempt's prediction, which the container has not seen to be abandoned yet.
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
        const files = await predict(request, call);
        if (files.length === 0) throw new ProviderFailure('no_output');
        return { kind: 'done', files };
      } catch (error) {
        if (!call.signal.aborted || error instanceof ProviderRefusal) throw error;
        // Older containers do not notice that the connection has ended.
        await cancel(request);
        throw call.signal.reason;
      }
    },

    /** There is no job to ask about: an id can only come from a definition that was changed to another protocol. */
    poll: () => Promise.reject(new ProviderFailure('outcome_unknown')),

    cancel: () => Promise.resolve({ outcome: 'unsupported' as const }),
  };
}

function pathOf({ taskId }: GenerationRequest): string {
  return `/predictions/${encodeURIComponent(taskId)}`;
}

/** The error is the exception's text; the model's own input checks and its bugs look alike. */
function failureReason(error: string | undefined): FailureReason {
  return error !== undefined && CONTENT_WORDS.test(error) ? 'content_rejected' : 'provider_error';
}

function refusalReason(status: number): FailureReason | undefined {
  return status === NO_SLOT ? 'provider_unavailable' : undefined;
}

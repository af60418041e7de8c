/**
 * Images from an API of OpenAI's form: `POST {baseUrl}/images/generations`, synchronous. Source: the openai-openapi
 * document (CreateImageRequest, ImagesResponse, Error).
 *
 * There is no idempotency key and no job to ask about, so a submit whose answer was lost is lost. The input's fields
 * are the provider's own (`prompt`, `n`, `size`, `quality`, `output_format` …); the model's schema says which.
 */
import type { FailureReason } from '../../domain/failure-reason.ts';
import { isWebAddress, listAt, textAt } from '../json-answer.ts';
import { ProviderFailure } from '../provider.ts';
import type { ProducedFile, Provider } from '../provider.ts';
import { createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps } from '../upstream-calls.ts';

/** Codes for content that the provider will not draw; the last is what Azure's edition says. */
const CONTENT_CODES = [
  'moderation_blocked',
  'content_policy_violation',
  'image_content_policy_violation',
  'content_filter',
  'contentFilter',
];
/** Codes that only the operator can do something about. `insufficient_quota` comes with 429, yet waiting is no cure. */
const OPERATOR_CODES = ['insufficient_quota', 'billing_hard_limit_reached', 'model_not_found', 'invalid_api_key'];

/** The adapter of protocol `openai`. */
export function createOpenAiProvider(deps: HttpProviderDeps): Provider {
  const calls = createUpstreamCalls('openai', deps);
  return {
    protocol: 'openai',
    isSubmitRepeatable: false,
    worksWhileSubmitting: true,

    async submit(request, call) {
      const { upstream, input } = request;
      const json = await calls.submit(request, call, {
        path: '/images/generations',
        body: { ...input, ...upstream.parameters, model: upstream.model },
        isSynchronous: true,
        refusalReason,
      });
      const files = listAt(json, 'data').flatMap(fileOf);
      if (files.length === 0) throw new ProviderFailure('no_output');
      return { kind: 'done', files };
    },

    /** The protocol has no jobs: an id can only come from a definition that was changed to another protocol. */
    poll: () => Promise.reject(new ProviderFailure('outcome_unknown')),

    cancel: () => Promise.resolve({ outcome: 'unsupported' as const }),
  };
}

function fileOf(image: unknown): readonly ProducedFile[] {
  const base64 = textAt(image, 'b64_json');
  if (base64 !== undefined) {
    const bytes = Buffer.from(base64, 'base64');
    return bytes.length === 0 ? [] : [{ from: 'bytes', bytes }];
  }
  const url = textAt(image, 'url');
  return url !== undefined && isWebAddress(url) ? [{ from: 'url', url }] : [];
}

function refusalReason(_status: number, json: unknown): FailureReason | undefined {
  const code = textAt(json, 'error', 'code');
  if (code === undefined) {
    // Older models refuse content with no code, only with this sentence.
    return /safety system/i.test(textAt(json, 'error', 'message') ?? '') ? 'content_rejected' : undefined;
  }
  if (CONTENT_CODES.includes(code)) return 'content_rejected';
  return OPERATOR_CODES.includes(code) ? 'model_unavailable' : undefined;
}

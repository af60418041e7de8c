/**
 * What the OpenAI-compatible interfaces have in common: the codes of their error object, with which they reject work or
 * say why it failed, and that the synchronous ones have no jobs.
 */
import type { FailureReason } from '../../domain/failure-reason.ts';
import { textAt } from '../json-answer.ts';
import { ProviderFailure } from '../provider.ts';
import type { Provider } from '../provider.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';

/** Codes for content that the provider will not generate; the last two are those of Azure's edition. */
const CONTENT_CODES = [
  'moderation_blocked',
  'content_policy_violation',
  'image_content_policy_violation',
  'sentinel_block',
  'content_filter',
  'contentFilter',
];
/** Codes that only the operator can act on. `insufficient_quota` comes with 429, yet waiting does not help. */
const OPERATOR_CODES = ['insufficient_quota', 'billing_hard_limit_reached', 'model_not_found', 'invalid_api_key'];

/** @returns undefined: the status decides. */
export function rejectionReason(_status: number, json: unknown): FailureReason | undefined {
  const code = textAt(json, 'error', 'code');
  if (code === undefined) {
    // Older models reject content with no code, only with this sentence.
    return /safety system/i.test(textAt(json, 'error', 'message') ?? '') ? 'content_rejected' : undefined;
  }
  if (CONTENT_CODES.includes(code)) return 'content_rejected';
  return OPERATOR_CODES.includes(code) ? 'model_unavailable' : undefined;
}

/** Why a job failed, from its error object. */
export function failureReason(json: unknown): FailureReason {
  return rejectionReason(200, json) === 'content_rejected' ? 'content_rejected' : 'provider_error';
}

/**
 * A synchronous interface: the files come with the response, and nothing can be polled afterwards. There is no
 * idempotency key either, so a submit whose response was lost is lost.
 */
export function withoutJobs(calls: UpstreamCalls): Omit<Provider, 'submit'> {
  return {
    protocol: 'openai',
    isSubmitRepeatable: false,
    worksWhileSubmitting: true,
    takesMediaAsFiles: true,
    download: calls.download,
    /** An id can only come from a definition that was changed to another protocol. */
    poll: () => Promise.reject(new ProviderFailure('outcome_unknown')),
    cancel: () => Promise.resolve({ outcome: 'unsupported' as const }),
  };
}

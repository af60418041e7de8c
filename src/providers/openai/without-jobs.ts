/**
 * What the synchronous interfaces have in common: the files come with the response, and nothing can be polled
 * afterwards.
 */
import { ProviderFailure } from '../provider.ts';
import type { Provider } from '../provider.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';

/** There is no idempotency key either, so a submit whose response was lost is lost. */
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

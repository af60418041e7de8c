/** What a submit is called with where a test needs nothing of it but the signal: adapters of upstreams write no files. */
import type { SubmitCall } from '../../src/providers/provider.ts';

export function submitCall(changes: Partial<SubmitCall> = {}): SubmitCall {
  return {
    accountId: 'someone',
    signal: new AbortController().signal,
    scratch: '/nowhere',
    onProgress: () => undefined,
    ...changes,
  };
}

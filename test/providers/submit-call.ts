/** The arguments of a submit in tests that need only the signal: adapters of upstreams write no files. */
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

/** A request that goes ahead of a submit: whatever fails here, no work was accepted. */
import { DEFAULT_RETRY_AFTER_MS, conditionOf, reasonOfStatus } from '../answer-status.ts';
import { ProviderUnreachable } from '../provider-unknown.ts';
import { ProviderRejection } from '../provider.ts';
import type { GenerationRequest, SubmitCall } from '../provider.ts';
import type { JobExchange, UpstreamCalls } from '../upstream-calls.ts';

/** Statuses that say something about the input or about us, as those of a submit do. */
const REJECTIONS: readonly number[] = [400, 402, 403, 404, 405, 410, 411, 413, 415, 422, 451];

/**
 * @param member of the binding that describes the request.
 * @returns the JSON of the response.
 * @throws {ProviderRejection}
 */
export async function sendAhead(
  member: 'preflight' | 'upload',
  request: GenerationRequest,
  { calls, call }: { readonly calls: UpstreamCalls; readonly call: SubmitCall },
  exchange: Omit<JobExchange, 'definiteStatuses'>,
): Promise<unknown> {
  const answer = await calls
    .query(request, call, { ...exchange, definiteStatuses: REJECTIONS })
    .catch((error: unknown) => {
      if (!(error instanceof ProviderUnreachable)) throw error;
      const { status, retryAfterMs } = error;
      throw new ProviderRejection('provider_unavailable', {
        retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_AFTER_MS,
        condition: status === undefined ? 'down' : conditionOf({ status, retryAfterMs }),
        note: `${member} failed: ${error.message}`,
      });
    });
  if (answer.status < 400) return answer.json;
  throw new ProviderRejection(reasonOfStatus(answer.status), { note: `${member} rejected with ${answer.status}` });
}

/**
 * What the status of a response means for a submit: whether the work was certainly not accepted, why, and what that
 * shows about the upstream itself. Providers' own codes take precedence (`SubmitExchange.rejectionReason`).
 */
import type { FailureReason } from '../domain/failure-reason.ts';
import type { ExchangeAnswer } from './http-exchange.ts';
import { ProviderRejection } from './provider.ts';
import type { UpstreamCondition } from './provider.ts';

/** 5 s: how long to back off from a provider that did not say how long. */
export const DEFAULT_RETRY_AFTER_MS = 5_000;
/** Statuses of a submit that do not show whether the work was accepted. */
const UNKNOWN_STATUSES: readonly number[] = [408, 409, 499];
/** Redirects that keep the method, or permanent ones: the base URL is wrong, and nothing was done. */
const MOVED_STATUSES: readonly number[] = [301, 307, 308];
const INPUT_STATUSES: readonly number[] = [400, 413, 415, 422];

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

export function isRejection(status: number): boolean {
  if (UNKNOWN_STATUSES.includes(status)) return false;
  return (status >= 400 && status < 500) || status === 503 || MOVED_STATUSES.includes(status);
}

export function reasonOfStatus(status: number): FailureReason {
  if (status === 429 || status === 503 || status === 425) return 'provider_unavailable';
  return INPUT_STATUSES.includes(status) ? 'input_invalid' : 'model_unavailable';
}

/** A 5xx without a retry time is a failure of the upstream; a 429 is a request to back off even without one. */
export function conditionOf({
  status,
  retryAfterMs,
}: Pick<ExchangeAnswer, 'status' | 'retryAfterMs'>): UpstreamCondition | undefined {
  if (status === 429 || (status >= 500 && retryAfterMs !== undefined)) return 'busy';
  return status >= 500 ? 'down' : undefined;
}

/** What a rejection that only the operator can act on shows about the credential. */
export function credentialConditionOf(status: number): UpstreamCondition | undefined {
  if (status === 401 || status === 403) return 'unauthorized';
  // Some providers answer 429 where a quota is used up, and say so in the body.
  return status === 402 || status === 429 ? 'out_of_credit' : undefined;
}

/** The rejection of work that was never sent: to be retried, at once if we aborted it ourselves. */
export function unsent(code: string): ProviderRejection {
  if (code === 'UND_ERR_INVALID_ARG') return new ProviderRejection('model_unavailable');
  if (code === 'ABORTED') return new ProviderRejection('provider_unavailable', { retryAfterMs: 0 });
  return new ProviderRejection('provider_unavailable', { retryAfterMs: DEFAULT_RETRY_AFTER_MS, condition: 'down' });
}

/**
 * What the status of a response means for a submit: whether the work was certainly not accepted, why, what that shows
 * about the upstream itself, and how long it asks us to wait. Providers' own codes take precedence
 * (`SubmitExchange.rejectionReason`). A hint to wait is the header of the standard, that of OpenAI in milliseconds, or
 * a field of the response's JSON; it is bounded, and only ever delays.
 */
import type { FailureReason } from '../domain/failure-reason.ts';
import { parseRetryAfterMs } from '../domain/waits.ts';
import type { ExchangeAnswer } from './http-exchange.ts';
import { listAt, valueAt } from './json-answer.ts';
import { ProviderRejection } from './provider.ts';
import type { UpstreamCondition } from './provider.ts';

/** 5 s: how long to back off from a provider that did not say how long. */
export const DEFAULT_RETRY_AFTER_MS = 5_000;
/** The longest delay that a provider can request, in milliseconds: 10 min, no longer than a task may last. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * The fields in which providers say how long to wait, in seconds: Replicate's, and that of APIs that wrap their errors.
 */
const RETRY_FIELDS: readonly (readonly string[])[] = [
  ['retry_after'],
  ['retryAfter'],
  ['error', 'retry_after'],
  ['detail', 'retry_after'],
];
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

/** @returns milliseconds, at most 10 min; undefined if the headers name none. */
export function retryAfterMsOfHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): number | undefined {
  const inMs = headers['retry-after-ms'];
  if (typeof inMs === 'string' && /^\d{1,9}(\.\d+)?$/.test(inMs)) return bounded(Number(inMs));
  return parseRetryAfterMs(headers['retry-after'], nowMs, MAX_RETRY_AFTER_MS);
}

/** @returns milliseconds, at most 10 min; undefined if the body names none. */
export function retryAfterMsOfBody(json: unknown): number | undefined {
  for (const field of RETRY_FIELDS) {
    const waitMs = retryAfterMsOf(valueAt(json, ...field));
    if (waitMs !== undefined) return waitMs;
  }
  // Google's `RetryInfo`.
  for (const detail of listAt(json, 'error', 'details')) {
    const waitMs = retryAfterMsOf(valueAt(detail, 'retryDelay'));
    if (waitMs !== undefined) return waitMs;
  }
  return undefined;
}

/**
 * A delay as providers write it: seconds as a number or text, `34s`, or a date.
 *
 * @returns milliseconds, at most 10 min; undefined if it is none of these.
 */
export function retryAfterMsOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 ? bounded(value * 1_000) : undefined;
  if (typeof value !== 'string' || value.length > 100) return undefined;
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(value) ?? [];
  return parseRetryAfterMs(seconds ?? value, Date.now(), MAX_RETRY_AFTER_MS);
}

function bounded(waitMs: number): number | undefined {
  return Number.isFinite(waitMs) ? Math.min(Math.round(waitMs), MAX_RETRY_AFTER_MS) : undefined;
}

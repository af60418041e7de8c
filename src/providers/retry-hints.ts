/**
 * How long a provider asks us to wait: the header of the standard, that of OpenAI in milliseconds, or a field of the
 * response's JSON. A hint is bounded, and only ever delays.
 */
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import { listAt, valueAt } from './json-answer.ts';

/** The longest delay that a provider can request, in milliseconds: 10 min, no longer than a task may last. */
const MAX_RETRY_AFTER_MS = 600_000;

/** The fields that providers use, in seconds: Replicate's, and that of APIs that wrap their errors. */
const FIELDS: readonly (readonly string[])[] = [
  ['retry_after'],
  ['retryAfter'],
  ['error', 'retry_after'],
  ['detail', 'retry_after'],
];

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
  for (const field of FIELDS) {
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

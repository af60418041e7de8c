/**
 * `Retry-After` as providers send it: whole seconds or a date (RFC 9110 §10.2.3). Bounded, so that no provider can
 * park a task for longer than a task may live.
 */

/** 10 min: the longest that a provider may send us away. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Reads the header.
 *
 * @param nowMs Unix milliseconds, against which a date is read.
 * @returns milliseconds from now, 0 to 10 min; undefined where the header is absent or of neither form.
 */
export function parseRetryAfterMs(header: string | readonly string[] | undefined, nowMs: number): number | undefined {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim();
  if (text === undefined || text === '') return undefined;
  const waitMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  if (Number.isNaN(waitMs)) return undefined;
  return Math.min(Math.max(0, Math.round(waitMs)), MAX_RETRY_AFTER_MS);
}

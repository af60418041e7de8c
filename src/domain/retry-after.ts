/**
 * `Retry-After` as providers and receivers of callbacks send it: whole seconds or a date (RFC 9110 §10.2.3). Bounded,
 * so that no peer can make us wait longer than we are willing to.
 */

/**
 * Reads the header.
 *
 * @param nowMs Unix milliseconds, against which a date is read.
 * @param maxMs the longest that is honoured.
 * @returns milliseconds from now, 0 to `maxMs`; undefined if the header is absent or of neither form.
 */
export function parseRetryAfterMs(
  header: string | readonly string[] | undefined,
  nowMs: number,
  maxMs: number,
): number | undefined {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim();
  if (text === undefined || text === '') return undefined;
  const waitMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  if (Number.isNaN(waitMs)) return undefined;
  return Math.min(Math.max(0, Math.round(waitMs)), maxMs);
}

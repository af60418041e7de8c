/** Waiting: until when, how long before the next attempt, and how long a peer asks for or is advised. */

/**
 * Bounds the wait for work that cannot be interrupted, or that may ignore an abort signal.
 *
 * @throws the signal's reason as soon as it fires; the work then continues unobserved.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(abortReason(signal));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

/** Why a signal was aborted, as an error: `AbortSignal.reason` has no type, because anything can be given to `abort`. */
export function abortReason({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait before the next attempt, in milliseconds: twice as long as the last time.
 *
 * @param waits how often it was waited before.
 */
export function backoffMs({ firstMs, maxMs }: Backoff, waits: number): number {
  return Math.min(firstMs * 2 ** waits, maxMs);
}

/**
 * Reads `Retry-After` as providers and receivers of callbacks send it: seconds or a date (RFC 9110 §10.2.3). Bounded, so
 * that no peer can make us wait longer than we are willing to.
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

/** The longest interval that a client is advised to wait: a task may end sooner than usual. */
const LONGEST_POLL_SECONDS = 30;
/**
 * The polling interval of a task that takes longer than usual, as a share of its age. The number of polls then grows
 * with the logarithm of the age.
 */
const SHARE_OF_AGE = 0.1;

/**
 * When polling a task again is worthwhile (contract §3 `Retry-After`): at first when the model is usually done, then in
 * steps that grow with the task's age.
 *
 * @param typicalSeconds what the model usually takes. @param ageSeconds since the task was created.
 * @returns whole seconds, 1 to 30.
 */
export function secondsUntilNextPoll(typicalSeconds: number, ageSeconds: number): number {
  const left = typicalSeconds - ageSeconds;
  const wait = left > 0 ? left : ageSeconds * SHARE_OF_AGE;
  return Math.min(Math.max(Math.ceil(wait), 1), LONGEST_POLL_SECONDS);
}

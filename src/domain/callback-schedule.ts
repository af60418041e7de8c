/**
 * When a callback is retried (contract §6), by the schedule of `CALLBACK_OFFSETS_SECONDS` (src/config/variables.ts).
 * `Retry-After` of the receiver is honoured up to an hour.
 */
import { backoffMs } from './waits.ts';
import type { Backoff } from './waits.ts';

/** Contract §6: "`Retry-After` is honoured up to 1 h". */
export const MAX_CALLBACK_RETRY_AFTER_MS = 3_600_000;

/**
 * How long to wait after a failed attempt.
 *
 * @param attempt the failed attempt, 1 for the first.
 * @param offsetsSeconds of each attempt after the first; the first entry is 0.
 * @param retryAfterMs what the receiver requested, if it did.
 * @returns milliseconds until the next attempt, or undefined when the schedule is used up.
 */
export function nextCallbackDelayMs(
  attempt: number,
  offsetsSeconds: readonly number[],
  retryAfterMs?: number,
): number | undefined {
  const next = offsetsSeconds[attempt];
  const last = offsetsSeconds[attempt - 1];
  if (next === undefined || last === undefined) return undefined;
  const scheduledMs = Math.max(0, next - last) * 1000;
  return Math.max(scheduledMs, Math.min(retryAfterMs ?? 0, MAX_CALLBACK_RETRY_AFTER_MS));
}

/**
 * The delays of attempts that lack the signing secret, in milliseconds. Once an operator has restored the encryption
 * key, no delivery waits longer than a quarter of an hour.
 */
const KEY_ATTEMPTS: Backoff = { firstMs: 60_000, maxMs: 900_000 };

/**
 * When a delivery retries a signing secret that could not be decrypted: after a minute, and then twice as long each
 * time. No attempt of the schedule is used up.
 *
 * @param attempt how often it has tried by now, from 1.
 */
export function nextKeyAttemptMs(attempt: number): number {
  return backoffMs(KEY_ATTEMPTS, attempt - 1);
}

/**
 * Writing down what a provider has answered. The answer cannot be asked for again, so while the database or the store is
 * away it is kept in hand and written when they are back, for as long as the task has.
 */
import pRetry from 'p-retry';
import { DatabaseUnavailableError } from '../src/database/database.ts';
import { StoreUnavailableError } from '../src/objects/stores/store-unavailable-error.ts';

/** Soon at first, then every 2 s: the activity occupies its slot meanwhile. */
const WAIT = { minTimeout: 200, maxTimeout: 2_000, factor: 2, retries: Number.POSITIVE_INFINITY };

/**
 * Runs `write` until it succeeds, fails for another reason than the database or the store being away, or the signal
 * fires. `write` must be safe to run again: whether the lost attempt took effect is not known. One that is under way when
 * the signal fires is waited for, and is a success where it succeeds.
 */
export async function keepAnswer<T>(signal: AbortSignal, write: () => Promise<T>): Promise<T> {
  let written: { readonly value: T } | undefined;
  const attempt = async (): Promise<void> => {
    written = { value: await write() };
  };
  try {
    await pRetry(attempt, {
      ...WAIT,
      signal,
      shouldRetry: ({ error }) => error instanceof DatabaseUnavailableError || error instanceof StoreUnavailableError,
    });
  } catch (error) {
    // `p-retry` throws the signal's reason after a success as well.
    if (written === undefined) throw error;
  }
  return (written as { readonly value: T }).value;
}

/**
 * Persists the answer of a provider, or of a receiver of callbacks. It cannot be requested again, so while the database
 * or the store is unavailable it is kept in memory and written when they are back, for as long as there is time.
 */
import pRetry from 'p-retry';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { StoreUnavailableError } from '../../objects/stores/object-store.ts';

/** The retry intervals: short at first, then 2 s. The activity occupies its slot while it waits. */
const WAIT = { minTimeout: 200, maxTimeout: 2_000, factor: 2, retries: Number.POSITIVE_INFINITY };

/**
 * Runs `write` until it succeeds, fails for a reason other than an unavailable database or store, or the signal fires.
 * `write` must be safe to run again: whether the lost attempt took effect is not known. An attempt that is in progress
 * when the signal fires is awaited, and counts as a success if it succeeds.
 */
export async function persistWithRetry<T>(signal: AbortSignal, write: () => Promise<T>): Promise<T> {
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
    // `p-retry` throws the signal's reason even after a success.
    if (written === undefined) throw error;
  }
  return (written as { readonly value: T }).value;
}

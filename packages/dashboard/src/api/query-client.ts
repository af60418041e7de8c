/**
 * How the dashboard caches and retries: a rejection by the service is final, a request that did not reach it is
 * retried.
 */
import { QueryClient } from '@tanstack/react-query';
import { ApiError, UnreachableError, isRetryable } from './api.ts';

const MOST_TRIES = 3;
/** The longest delay requested by the service for which retries stay silent, without an error on the page. */
const MOST_SILENT_SECONDS = 5;
/**
 * A failed query is repeated at this interval while the page is visible, unless the service requests a longer delay.
 */
const REFETCH_AFTER_MS = 5_000;

/** Whether the service seems to be unavailable. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof UnreachableError || (error instanceof ApiError && error.kind === 'unavailable');
}

/** @param attempt from 0. @returns milliseconds: the delay that the service requests, otherwise doubled each time. */
export function retryDelayMs(attempt: number, error: unknown): number {
  if (error instanceof ApiError && error.retryAfterSeconds !== undefined) return error.retryAfterSeconds * 1000;
  return Math.min(1_000 * 2 ** attempt, 10_000);
}

/** Whether to retry without showing the error. */
function isTriedSilently(failures: number, error: unknown): boolean {
  const patienceSeconds = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
  return failures < MOST_TRIES && isRetryable(error) && patienceSeconds <= MOST_SILENT_SECONDS;
}

/**
 * For lists that are read page by page a refetch would read all of their pages again: the user presses the button
 * instead.
 */
export function isReadInParts(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'pages' in data;
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // Whether the computer is on a network means little: Darkroom may run on the same computer. Failures are
      // reported.
      queries: {
        networkMode: 'always',
        refetchOnReconnect: true,
        staleTime: 5_000,
        retry: isTriedSilently,
        retryDelay: retryDelayMs,
        // A page that showed an error recovers by itself.
        refetchInterval: ({ state: { data, error } }) => {
          if (error === null || !isRetryable(error) || isReadInParts(data)) return false;
          return Math.max(REFETCH_AFTER_MS, retryDelayMs(0, error));
        },
      },
      // A request that changes something is sent once: the user who pressed the button decides about a second time.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

/**
 * How the dashboard remembers and asks again: what the service refuses is final, what did not reach it is tried again.
 */
import { QueryClient } from '@tanstack/react-query';
import { ApiError, UnreachableError } from './api.ts';

const MOST_TRIES = 3;
/** Nobody is left without a word for longer than this where the service asks for patience. */
const MOST_SILENT_SECONDS = 5;
/** What failed is asked for again this often while somebody looks, unless the service asks for more patience. */
const ASK_AGAIN_MS = 5_000;
const UNAVAILABLE = new Set([502, 503, 504]);

/** Whether nobody serves at this moment, as far as one can see from here. */
export function isAway(error: unknown): boolean {
  return error instanceof UnreachableError || (error instanceof ApiError && UNAVAILABLE.has(error.status));
}

/** Whether asking once more may help. */
export function mayRetry(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 500;
}

/** @param attempt from 0. @returns milliseconds: what the service asks for, else twice as long each time. */
export function retryDelayMs(attempt: number, error: unknown): number {
  if (error instanceof ApiError && error.retryAfterSeconds !== undefined) return error.retryAfterSeconds * 1000;
  return Math.min(1_000 * 2 ** attempt, 10_000);
}

/** Whether to try again without a word. */
function isTriedSilently(failures: number, error: unknown): boolean {
  const patienceSeconds = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
  return failures < MOST_TRIES && mayRetry(error) && patienceSeconds <= MOST_SILENT_SECONDS;
}

/** Lists that are read page by page would read all of their pages again: whoever reads on presses the button. */
export function isReadInParts(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'pages' in data;
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // Whether the computer is on a network says little: Darkroom may be on the computer itself. What fails is told.
      queries: {
        networkMode: 'always',
        refetchOnReconnect: true,
        staleTime: 5_000,
        retry: isTriedSilently,
        retryDelay: retryDelayMs,
        // A page whose error was told comes back by itself.
        refetchInterval: ({ state: { data, error } }) => {
          if (error === null || !mayRetry(error) || isReadInParts(data)) return false;
          return Math.max(ASK_AGAIN_MS, retryDelayMs(0, error));
        },
      },
      // What changes something is sent once: whoever pressed the button decides about a second time.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

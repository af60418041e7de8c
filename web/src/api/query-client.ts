/**
 * How the dashboard remembers and asks again: what the service refuses is final, what did not reach it is tried again.
 */
import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './api.ts';

const MOST_TRIES = 3;

/** Whether asking once more may help. */
export function mayRetry(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 500;
}

/** @param attempt from 0. @returns milliseconds: what the service asks for, else twice as long each time. */
export function retryDelayMs(attempt: number, error: unknown): number {
  if (error instanceof ApiError && error.retryAfterSeconds !== undefined) return error.retryAfterSeconds * 1000;
  return Math.min(1_000 * 2 ** attempt, 10_000);
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // Whether the computer is on a network says little: Darkroom may be on the computer itself. What fails is told.
      queries: {
        networkMode: 'always',
        refetchOnReconnect: true,
        staleTime: 5_000,
        retry: (failures, error) => failures < MOST_TRIES && mayRetry(error),
        retryDelay: retryDelayMs,
      },
      // What changes something is sent once: whoever pressed the button decides about a second time.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

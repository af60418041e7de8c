/** The account: balance, limits, failing receivers. */
import { useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { AccountSchema } from '@darkroom/api/tasks/account';
import { api } from './api.ts';

export type Account = Static<typeof AccountSchema>;

export const ACCOUNT_QUERY = ['account'] as const;

/** @param mayRead whether the key may read it: otherwise no request is sent. */
export function useAccount(mayRead: boolean) {
  return useQuery({
    queryKey: ACCOUNT_QUERY,
    queryFn: ({ signal }) => api.call<Account>('GET', '/v1/account', { signal }),
    enabled: mayRead,
    refetchInterval: 15_000,
  });
}

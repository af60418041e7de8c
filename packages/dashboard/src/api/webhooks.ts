/** Callbacks of the account: the signing secret, test deliveries, and recent attempts. */
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { AccountCallbacksSchema } from '@darkroom/api/tasks/account-callbacks';
import type { TestDeliveryResultSchema, WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import { ACCOUNT_QUERY } from './account.ts';
import { api } from './api.ts';

export type SigningSecret = WireWebhookKey;
export type TestDelivery = Static<typeof TestDeliveryResultSchema>;
type AttemptPage = Static<typeof AccountCallbacksSchema>;
export type Attempt = AttemptPage['attempts'][number];
export type DeliveryState = Attempt['state'];

export interface AttemptFilter {
  readonly state: DeliveryState | undefined;
  /** Scheme, host and port of a receiver. */
  readonly origin: string | undefined;
}

const KEY_PATH = '/v1/account/webhook-key';
const KEY_QUERY = ['webhook-key'] as const;
const PAGE_SIZE = 20;

/** @param mayManage whether the key may manage it: otherwise no request is sent. */
export function useSigningSecret(mayManage: boolean) {
  return useQuery({
    queryKey: KEY_QUERY,
    queryFn: ({ signal }) => api.call<SigningSecret>('GET', KEY_PATH, { signal }),
    enabled: mayManage,
    // A secret is not kept longer than it is shown.
    gcTime: 0,
  });
}

/** @param send changes the key. @returns its mutation; the answer replaces the cached key. */
function useSecretChange<Given>(send: (given: Given) => Promise<SigningSecret>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    gcTime: 0,
    async onSuccess(key) {
      // An earlier request would return the previous key.
      await client.cancelQueries({ queryKey: KEY_QUERY });
      client.setQueryData(KEY_QUERY, key);
    },
  });
}

export function useSetSigningSecret() {
  return useSecretChange((secret: string) => api.call<SigningSecret>('PUT', KEY_PATH, { body: { secret } }));
}

/** Creates a key, or replaces the current one. */
export function useRotateSigningSecret() {
  return useSecretChange(() => api.call<SigningSecret>('POST', `${KEY_PATH}/rotate`));
}

export function useDeleteSigningSecret() {
  return useSecretChange(() => api.call<SigningSecret>('DELETE', KEY_PATH));
}

export function useTestDelivery() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (url: string) => api.call<TestDelivery>('POST', `${KEY_PATH}/test`, { body: { url } }),
    // A successful delivery ends the failure state of its receiver.
    onSuccess: () => void client.invalidateQueries({ queryKey: ACCOUNT_QUERY }),
  });
}

/** @param mayRead whether the key may read them: otherwise no request is sent. */
export function useAttempts({ state, origin }: AttemptFilter, mayRead: boolean) {
  return useInfiniteQuery({
    queryKey: ['callback-attempts', state, origin],
    queryFn: ({ pageParam, signal }) =>
      api.call<AttemptPage>('GET', '/v1/account/callbacks', {
        query: { size: PAGE_SIZE, cursor: pageParam, state, origin },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: mayRead,
  });
}

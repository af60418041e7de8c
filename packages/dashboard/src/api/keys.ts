/** The account's keys: list, create, rotate, revoke. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { CreateKeyBody, KeyListSchema, MadeKeySchema, WireKey } from '@darkroom/api/tasks/key';
import type { ModelListSchema } from '@darkroom/api/tasks/model';
import { api } from './api.ts';

export type Key = WireKey;
export type MadeKey = Static<typeof MadeKeySchema>;
export type NewKey = CreateKeyBody;

const KEYS_QUERY = ['keys'] as const;

/** @param mayRead whether the key may read them: otherwise no request is sent. */
export function useKeys(mayRead: boolean) {
  return useQuery({
    queryKey: KEYS_QUERY,
    queryFn: async ({ signal }) =>
      (await api.call<Static<typeof KeyListSchema>>('GET', '/v1/account/keys', { signal })).keys,
    enabled: mayRead,
    refetchInterval: 30_000,
  });
}

/**
 * The model names to which a key can be restricted.
 *
 * @param mayRead whether the key may read them: otherwise no request is sent.
 */
export function useModelNames(mayRead: boolean) {
  return useQuery({
    queryKey: ['model-names'],
    queryFn: async ({ signal }) => {
      const { data } = await api.call<Static<typeof ModelListSchema>>('GET', '/v1/models', { signal });
      return data.map(({ id }) => id);
    },
    enabled: mayRead,
    staleTime: 60_000,
  });
}

/** Reads the keys again after one was changed. */
function useKeysChanged(): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: KEYS_QUERY });
}

export function useCreateKey() {
  const keysChanged = useKeysChanged();
  return useMutation({
    mutationFn: (body: NewKey) => api.call<MadeKey>('POST', '/v1/account/keys', { body }),
    onSuccess: () => void keysChanged(),
  });
}

export function useRotateKey() {
  const keysChanged = useKeysChanged();
  return useMutation({
    mutationFn: ({ id, overlapSeconds }: { readonly id: string; readonly overlapSeconds: number }) =>
      api.call<MadeKey>('POST', `/v1/account/keys/${encodeURIComponent(id)}/rotate`, { body: { overlapSeconds } }),
    onSuccess: () => void keysChanged(),
  });
}

export function useRevokeKey() {
  const keysChanged = useKeysChanged();
  return useMutation({
    mutationFn: (id: string) => api.call<Key>('DELETE', `/v1/account/keys/${encodeURIComponent(id)}`),
    onSuccess: () => void keysChanged(),
  });
}

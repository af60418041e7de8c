/** The account's keys: list, create, rotate, revoke. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { CreateKeyBody, CreatedKeySchema, KeyListSchema, WireKey } from '@darkroom/api/tasks/key';
import type { ModelListSchema } from '@darkroom/api/tasks/model';
import { api } from './api.ts';

export type Key = WireKey;
export type CreatedKey = Static<typeof CreatedKeySchema>;
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

/** What can be changed about the keys of an account: by the account itself, or by an operator (admin.ts). */
export interface KeyActions {
  readonly create: (key: NewKey) => Promise<CreatedKey>;
  readonly rotate: (change: { readonly id: string; readonly overlapSeconds: number }) => Promise<CreatedKey>;
  readonly revoke: (id: string) => Promise<unknown>;
}

/** The changes; after each of them the keys are read again. @throws {ApiError} @throws {UnreachableError} */
export function useKeyActions(): KeyActions {
  const client = useQueryClient();
  async function change<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await api.call<Answer>(method, `/v1/account/keys${path}`, { body });
    void client.invalidateQueries({ queryKey: KEYS_QUERY });
    return answer;
  }
  return {
    create: (key) => change('POST', '', key),
    rotate: ({ id, overlapSeconds }) => change('POST', `/${encodeURIComponent(id)}/rotate`, { overlapSeconds }),
    revoke: (id) => change('DELETE', `/${encodeURIComponent(id)}`),
  };
}

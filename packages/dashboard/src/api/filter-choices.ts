/**
 * The values by which a list of tasks can be filtered: names of models and keys, as far as the session may read them.
 */
import { useQuery } from '@tanstack/react-query';
import { useMay } from '../session/session.tsx';
import { api } from './api.ts';

interface Names {
  readonly models: readonly string[];
  readonly keys: readonly { readonly value: string; readonly label: string }[];
}

/** Names change rarely. */
const STALE_MS = 60_000;

export function useFilterChoices(): Names {
  const mayReadModels = useMay('models:read');
  const mayReadKeys = useMay('keys:manage');
  const models = useQuery({
    queryKey: ['filter-choices', 'models'],
    queryFn: ({ signal }) =>
      api.call<{ data: readonly { id: string; modality: string }[] }>('GET', '/v1/models', { signal }),
    enabled: mayReadModels,
    staleTime: STALE_MS,
  });
  const keys = useQuery({
    queryKey: ['filter-choices', 'keys'],
    queryFn: ({ signal }) =>
      api.call<{ keys: readonly { id: string; name: string }[] }>('GET', '/v1/account/keys', { signal }),
    enabled: mayReadKeys,
    staleTime: STALE_MS,
  });
  return {
    // A text model creates no tasks.
    models: models.data?.data.filter(({ modality }) => modality !== 'text').map(({ id }) => id) ?? [],
    keys: keys.data?.keys.map(({ id, name }) => ({ value: id, label: `${name} (${id})` })) ?? [],
  };
}

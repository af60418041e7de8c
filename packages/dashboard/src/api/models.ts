/** The catalogue: the models that the session's key may use, and one of them with the schema of its input. */
import { useQuery } from '@tanstack/react-query';
import type { WireModel, WireModelDetail } from '@darkroom/api/tasks/model';
import { api } from './api.ts';

export type Model = WireModel;
export type ModelDetail = WireModelDetail;
export type Modality = Model['modality'];

/** Models change only when an operator changes them. */
const STALE_MS = 60_000;

/** @param mayRead whether the key may read them: otherwise no request is sent. */
export function useModels(mayRead: boolean) {
  return useQuery({
    queryKey: ['models', 'list'],
    queryFn: async ({ signal }) => (await api.call<{ data: readonly Model[] }>('GET', '/v1/models', { signal })).data,
    enabled: mayRead,
    staleTime: STALE_MS,
  });
}

/** @param name with its slashes; undefined: no request is sent. */
export function useModel(name: string | undefined) {
  return useQuery({
    queryKey: ['models', 'one', name],
    queryFn: ({ signal }) => api.call<ModelDetail>('GET', `/v1/models/${encodeURIComponent(name ?? '')}`, { signal }),
    enabled: name !== undefined,
    staleTime: STALE_MS,
  });
}

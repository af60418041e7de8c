/** The cost of a task, and all errors in its request, before anything is created. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDebouncedValue } from '@mantine/hooks';
import type { WireEstimate } from '@darkroom/api/tasks/estimate';
import { api } from './api.ts';
import type { TaskRequest } from './task-request.ts';

export type Estimate = WireEstimate;

/** The pause after the last input before a request is sent, in milliseconds: none is sent while the user types. */
const PAUSE_MS = 400;
/** Balances and caps change. */
const STALE_MS = 10_000;

/**
 * The latest estimate; `isCurrent`: whether it is for this request.
 *
 * @param isEnabled otherwise no request is sent.
 */
export function useEstimate(request: TaskRequest, isEnabled: boolean) {
  const text = JSON.stringify(request);
  const [requested] = useDebouncedValue(text, PAUSE_MS);
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ['estimate', requested],
    queryFn: ({ signal }) =>
      api.call<Estimate>('POST', '/v1/tasks/estimate', { body: JSON.parse(requested) as TaskRequest, signal }),
    enabled: isEnabled,
    staleTime: STALE_MS,
    gcTime: STALE_MS,
    placeholderData: keepPreviousData,
  });
  return { estimate: data, error, isCurrent: data !== undefined && !isPlaceholderData && requested === text };
}

/**
 * Stored outputs: a page of their list, and operations on several at once.
 */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { StorageDecisionSchema, StorageListSchema } from '@darkroom/api/tasks/storage';
import { api } from './api.ts';

export type StorageList = Static<typeof StorageListSchema>;
export type StoredOutput = StorageList['items'][number];
export type StorageDecision = Static<typeof StorageDecisionSchema>;
export type StorageRejection = StorageDecision['rejected'][number]['reason'];

/** Contract §5: "a JSON array of 1-50 output ids". */
const MAX_IDS = 50;
/** Rows per page: fewer than that, so that one request can change all of a page. */
export const STORAGE_PAGE_SIZE = 48;
const PENDING_EVERY_MS = 2_000;
/** New outputs appear by themselves. */
const LIST_EVERY_MS = 15_000;

const STORAGE_QUERY = ['storage'] as const;

export interface StorageFilter {
  readonly tier?: 'temp' | 'persistent' | undefined;
  readonly type?: string | undefined;
  readonly status?: StoredOutput['status'] | undefined;
  readonly taskId?: string | undefined;
}

/** @param page from 1. */
export function useStorageList(filter: StorageFilter, page: number) {
  return useQuery({
    queryKey: [...STORAGE_QUERY, filter, page],
    queryFn: ({ signal }) =>
      api.call<StorageList>('GET', '/v1/storages', {
        query: {
          page,
          size: STORAGE_PAGE_SIZE,
          storage_tier: filter.tier,
          type: filter.type,
          status: filter.status,
          taskId: filter.taskId,
        },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      data?.items.some(({ status }) => status === 'pending') === true ? PENDING_EVERY_MS : LIST_EVERY_MS,
  });
}

/** The cost of persistent outputs changes the account's figures too. */
export function useStorageChanged(): () => void {
  const client = useQueryClient();
  return () => {
    void client.invalidateQueries({ queryKey: STORAGE_QUERY });
    void client.invalidateQueries({ queryKey: ['account'] });
  };
}

export function usePromotion() {
  const changed = useStorageChanged();
  return useMutation({
    mutationFn: (ids: readonly string[]) => decide('POST', '/v1/storages/promote', ids),
    onSettled: changed,
  });
}

export function deleteOutputs(ids: readonly string[]): Promise<StorageDecision> {
  return decide('DELETE', '/v1/storages', ids);
}

/** Deletes outputs when a page is closed: the request outlives the page, and its response is not read. */
export function deleteOutputsOnLeaving(ids: readonly string[]): void {
  for (const part of partsOf(ids)) {
    void fetch('/v1/storages', {
      method: 'DELETE',
      headers: { 'Content-Type': 'application/json', 'X-Darkroom-Dashboard': '1' },
      body: JSON.stringify(part),
      credentials: 'same-origin',
      keepalive: true,
    });
  }
}

async function decide(method: string, path: string, ids: readonly string[]): Promise<StorageDecision> {
  const decisions: StorageDecision[] = [];
  for (const part of partsOf(ids)) decisions.push(await api.call<StorageDecision>(method, path, { body: part }));
  return {
    accepted: decisions.flatMap(({ accepted }) => accepted),
    rejected: decisions.flatMap(({ rejected }) => rejected),
  };
}

function partsOf(ids: readonly string[]): string[][] {
  const parts: string[][] = [];
  for (let from = 0; from < ids.length; from += MAX_IDS) parts.push(ids.slice(from, from + MAX_IDS));
  return parts;
}

/** The filters and the page number of the gallery in the page's URL, as the API's parameters. */
import { useCallback, useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { StorageFilter } from '../../api/storage.ts';
import { texts } from '../../texts/storage.ts';

interface StorageView {
  readonly filter: StorageFilter;
  /** From 1. */
  readonly page: number;
}

function viewOf(search: URLSearchParams): StorageView {
  const tier = search.get('storage_tier');
  const status = search.get('status') ?? '';
  const page = search.get('page') ?? '';
  return {
    filter: {
      tier: tier === 'temp' || tier === 'persistent' ? tier : undefined,
      type: search.get('type') || undefined,
      status: isStatus(status) ? status : undefined,
      taskId: search.get('taskId') || undefined,
    },
    page: /^[1-9]\d{0,4}$/.test(page) ? Number(page) : 1,
  };
}

function isStatus(text: string): text is keyof typeof texts.statuses {
  return Object.hasOwn(texts.statuses, text);
}

export function isNarrowed(filter: StorageFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}

export function useStorageView(): readonly [StorageView, (view: StorageView) => void] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const view = useMemo(() => viewOf(new URLSearchParams(search)), [search]);
  const setView = useCallback(
    ({ filter, page }: StorageView) => {
      const query = new URLSearchParams();
      if (filter.tier !== undefined) query.set('storage_tier', filter.tier);
      if (filter.type !== undefined) query.set('type', filter.type);
      if (filter.status !== undefined) query.set('status', filter.status);
      if (filter.taskId !== undefined) query.set('taskId', filter.taskId);
      if (page > 1) query.set('page', String(page));
      navigate(query.size === 0 ? '/storage' : `/storage?${query.toString()}`);
    },
    [navigate],
  );
  return [view, setView];
}

/** The list's filter, kept in the page's URL. */
import { useCallback, useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import { filterParameters } from '../../api/tasks.ts';
import type { TaskFilter } from '../../api/tasks.ts';
import { filterOf } from './filter-address.ts';

export function useFilter(): readonly [TaskFilter, (filter: TaskFilter) => void] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filter = useMemo(() => filterOf(new URLSearchParams(search)), [search]);
  const setFilter = useCallback(
    (next: TaskFilter) => {
      const query = new URLSearchParams(filterParameters(next)).toString();
      navigate(query === '' ? '/tasks' : `/tasks?${query}`);
    },
    [navigate],
  );
  return [filter, setFilter];
}

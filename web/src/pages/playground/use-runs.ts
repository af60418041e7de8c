/** What this session has run in the playground: in memory, and gone with the session. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { TaskRequest } from '../../api/task-request.ts';

export interface Run {
  readonly taskId: string;
  readonly request: TaskRequest;
}

const RUNS_QUERY = ['playground', 'runs'] as const;
/** As many are remembered. */
const MOST_RUNS = 30;

/** @returns the runs, newest first, and how another is added. */
export function useRuns(): { readonly runs: readonly Run[]; readonly add: (run: Run) => void } {
  const client = useQueryClient();
  const { data: runs = [] } = useQuery<readonly Run[]>({
    queryKey: RUNS_QUERY,
    queryFn: () => client.getQueryData<readonly Run[]>(RUNS_QUERY) ?? [],
    staleTime: Infinity,
    gcTime: Infinity,
  });
  return {
    runs,
    add: (run) =>
      client.setQueryData<readonly Run[]>(RUNS_QUERY, (before = []) =>
        [run, ...before.filter(({ taskId }) => taskId !== run.taskId)].slice(0, MOST_RUNS),
      ),
  };
}

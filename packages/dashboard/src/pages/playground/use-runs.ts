/** The playground runs of this session. */
import type { TaskRequest } from '../../api/task-request.ts';
import { useMemory } from '../../session/memory.ts';

export interface Run {
  readonly taskId: string;
  readonly request: TaskRequest;
}

/** This many are remembered. */
const MOST_RUNS = 30;
const NO_RUNS: readonly Run[] = [];

/** @returns the runs, newest first, and a function to add one. */
export function useRuns(): { readonly runs: readonly Run[]; readonly add: (run: Run) => void } {
  const [runs, change] = useMemory('playground runs', NO_RUNS);
  return {
    runs,
    add: (run) =>
      change((before) => [run, ...before.filter(({ taskId }) => taskId !== run.taskId)].slice(0, MOST_RUNS)),
  };
}

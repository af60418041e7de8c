/** What a kill of the worker did to the jobs that were accepted. */
import type { BurstResult, Execution } from './system.ts';

export interface Recovery {
  readonly jobs: number;
  /** From the kill until the next worker has started. */
  readonly startedMs: number;
  /** From the kill to the first execution after it, which includes the start of the next worker. */
  readonly firstMs: number;
  /** From the kill to the last result. */
  readonly lastMs: number;
  /** Accepted, and without a result until the end of the wait. */
  readonly lost: number;
  /** Executed more than once. */
  readonly repeated: number;
}

/** @param killedAt in milliseconds since 1970, as `startedAt`, when the next worker had started. */
export function recoveryOf(
  { ids, unfinished, lastAt }: BurstResult,
  executions: readonly Execution[],
  { killedAt, startedAt }: { readonly killedAt: number; readonly startedAt: number },
): Recovery {
  const times = new Map<string, number>();
  for (const { job } of executions) times.set(job, (times.get(job) ?? 0) + 1);
  const after = executions.map(({ at }) => at).filter((at) => at > killedAt);
  return {
    jobs: ids.length,
    startedMs: startedAt - killedAt,
    firstMs: after.length === 0 ? Number.NaN : Math.min(...after) - killedAt,
    lastMs: lastAt - killedAt,
    lost: unfinished.length,
    repeated: [...times.values()].filter((count) => count > 1).length,
  };
}

/** The value below which this share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

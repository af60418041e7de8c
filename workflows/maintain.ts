/**
 * All maintenance work of every minute, started by its Schedule as one workflow, so that operators can still find the
 * tasks in the list (architecture, "Repair is part of the design"). Safe to run twice and at any time.
 */
import { isCancellation, proxyActivities } from '@temporalio/workflow';
import { expireOptions, reconcileOptions, sweepOptions } from './activity-options.ts';
import type { Activities, ExpireResult, MaintainResult, ReconcileInput, SweepResult } from './contracts.ts';

/**
 * The maximum number of parts of a pass, so that its history does not grow without limit. At half a minute per part
 * this is an hour; the next pass then starts from the beginning.
 */
const MAX_PARTS = 120;

/**
 * One pass: repairs the open tasks part by part, and in parallel with each part records what has expired and deletes
 * the bytes of deleted objects, unless that is still in progress from the previous part. None of them waits for
 * another, and a failure of one does not stop the others.
 *
 * @throws {ActivityFailure} the first failure of the pass, after everything else was done. A cancellation takes
 *   precedence.
 */
export async function maintain(): Promise<MaintainResult> {
  const { reconcileTasks } = proxyActivities<Pick<Activities, 'reconcileTasks'>>(reconcileOptions());
  const { expireOutputs } = proxyActivities<Pick<Activities, 'expireOutputs'>>(expireOptions());
  const { sweepObjects } = proxyActivities<Pick<Activities, 'sweepObjects'>>(sweepOptions({ target: 'deleted' }));
  const failures: unknown[] = [];
  const noted = <T>(work: Promise<T>): Promise<T | undefined> =>
    work.catch((error: unknown) => {
      failures.push(error);
      return undefined;
    });
  const expiry = onceAtATime(() => noted<ExpireResult>(expireOutputs()));
  const sweep = onceAtATime(() => noted<SweepResult>(sweepObjects({ target: 'deleted' })));
  const repair = { checked: 0, settled: 0, restarted: 0 };
  let next: ReconcileInput | undefined;
  for (let parts = 0; parts < MAX_PARTS; parts++) {
    const repairing = noted(next === undefined ? reconcileTasks() : reconcileTasks(next));
    expiry.begin();
    sweep.begin();
    const part = await repairing;
    repair.checked += part?.checked ?? 0;
    repair.settled += part?.settled ?? 0;
    repair.restarted += part?.restarted ?? 0;
    if (part?.next === undefined) break;
    next = { after: part.next };
  }
  const [expired, swept] = await Promise.all([expiry.ended(), sweep.ended()]);
  if (failures.length > 0) throw failures.find(isCancellation) ?? failures[0];
  return { repair, ...(expired === undefined ? {} : { expired }), ...(swept === undefined ? {} : { swept }) };
}

interface Repeated<Counts> {
  /** Starts it again, unless it is still running. */
  begin(): void;
  /** @returns the sum of all runs, once it is no longer running. */
  ended(): Promise<Counts | undefined>;
}

/** @param work does not fail. */
function onceAtATime<Counts extends { readonly [name in keyof Counts]: number }>(
  work: () => Promise<Counts | undefined>,
): Repeated<Counts> {
  let counts: Counts | undefined;
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    counts = sum(counts, await work());
    running = undefined;
  };
  return {
    begin() {
      running ??= run();
    },
    async ended() {
      await running;
      return counts;
    },
  };
}

function sum<Counts extends { readonly [name in keyof Counts]: number }>(
  before: Counts | undefined,
  more: Counts | undefined,
): Counts | undefined {
  if (before === undefined || more === undefined) return more ?? before;
  const counts: Record<string, number> = { ...more };
  for (const [name, count] of Object.entries<number>(before)) counts[name] = (counts[name] ?? 0) + count;
  return counts as Counts;
}

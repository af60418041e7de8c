/**
 * Everything that keeps the service in order every minute, started by its Schedule as one workflow, so that operators
 * find tasks between them (architecture, "Repair is part of the design"). Safe to run twice and at any time.
 */
import { isCancellation, proxyActivities } from '@temporalio/workflow';
import { expireOptions, reconcileOptions, sweepOptions } from './activity-options.ts';
import type { Activities, ExpireResult, MaintainResult, ReconcileInput, SweepResult } from './contracts.ts';

/** A pass over more begins anew, so that no history grows without end: at half a minute a round this is an hour. */
const MAX_ROUNDS = 120;

/**
 * One pass: repairs the open tasks part by part, and with each part writes down what has expired and deletes the bytes of
 * what is gone. None of them waits for another's next round, and one that fails stops no other.
 *
 * @throws {ActivityFailure} the first failure of the pass, after all the rest was done.
 */
export async function maintain(): Promise<MaintainResult> {
  const { reconcileTasks } = proxyActivities<Pick<Activities, 'reconcileTasks'>>(reconcileOptions());
  const { expireOutputs } = proxyActivities<Pick<Activities, 'expireOutputs'>>(expireOptions());
  const { sweepObjects } = proxyActivities<Pick<Activities, 'sweepObjects'>>(sweepOptions({ target: 'deleted' }));
  const failures: unknown[] = [];
  const noted = async <T>(work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      if (isCancellation(error)) throw error;
      failures.push(error);
      return undefined;
    }
  };
  const repair = { checked: 0, settled: 0, restarted: 0 };
  let expired: ExpireResult | undefined;
  let swept: SweepResult | undefined;
  let next: ReconcileInput | undefined;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const [part, expiry, sweep] = await Promise.all([
      noted(next === undefined ? reconcileTasks() : reconcileTasks(next)),
      noted(expireOutputs()),
      noted(sweepObjects({ target: 'deleted' })),
    ]);
    repair.checked += part?.checked ?? 0;
    repair.settled += part?.settled ?? 0;
    repair.restarted += part?.restarted ?? 0;
    expired = sum(expired, expiry);
    swept = sum(swept, sweep);
    if (part?.next === undefined) break;
    next = { after: part.next };
  }
  if (failures.length > 0) throw failures[0];
  return { repair, ...(expired === undefined ? {} : { expired }), ...(swept === undefined ? {} : { swept }) };
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

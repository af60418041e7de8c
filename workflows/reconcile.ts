/**
 * One pass of the repair, which `maintain` starts every minute (architecture, "Repair is part of the design"). Safe to
 * run twice and at any time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { reconcileOptions } from './activity-options.ts';
import type { Activities, ReconcileResult } from './contracts.ts';

/**
 * The maximum number of parts of a pass, so that its history does not grow without limit. At half a minute per part
 * this is an hour; the next pass then starts from the beginning.
 */
const MAX_PARTS = 120;

/** Checks all open tasks once. */
export async function reconcile(): Promise<ReconcileResult> {
  const { reconcileTasks } = proxyActivities<Pick<Activities, 'reconcileTasks'>>(reconcileOptions());
  let part = await reconcileTasks();
  let { checked, settled, restarted } = part;
  for (let parts = 1; part.next !== undefined && parts < MAX_PARTS; parts++) {
    part = await reconcileTasks({ after: part.next });
    checked += part.checked;
    settled += part.settled;
    restarted += part.restarted;
  }
  return { checked, settled, restarted };
}

/**
 * One pass of the repair, which `maintain` starts every minute (architecture, "Repair is part of the design"). Safe to
 * run twice and at any time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { reconcileOptions } from './activity-options.ts';
import type { Activities, ReconcileResult } from './contracts.ts';

/** A pass over more begins anew, so that no history grows without end: at half a minute a part this is an hour. */
const MAX_PARTS = 120;

/** Looks once through all open tasks. */
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

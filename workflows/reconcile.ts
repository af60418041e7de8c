/**
 * One pass of the repair, started by its Schedule every minute (architecture, "Repair is part of the design"). Safe to
 * run twice and at any time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { RECONCILE_OPTIONS } from './activity-options.ts';
import type { Activities, ReconcileResult } from './contracts.ts';

const { reconcileTasks } = proxyActivities<Pick<Activities, 'reconcileTasks'>>(RECONCILE_OPTIONS);

/** Looks once through all open tasks. */
export async function reconcile(): Promise<ReconcileResult> {
  return reconcileTasks();
}

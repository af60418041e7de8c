/**
 * One pass over everything that is kept for a limited time, which `maintain` starts every minute (architecture,
 * "Repair is part of the design"). Safe to run twice and at any time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { expireOptions } from './activity-options.ts';
import type { Activities, ExpireResult } from './contracts.ts';

/** Records what has expired, and requests abandoned promotions again. */
export async function expireOutputs(): Promise<ExpireResult> {
  const activities = proxyActivities<Pick<Activities, 'expireOutputs'>>(expireOptions());
  return activities.expireOutputs();
}

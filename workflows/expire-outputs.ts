/**
 * One pass over what is kept for a time only, which `maintain` starts every minute (architecture, "Repair is part of the
 * design"). Safe to run twice and at any time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { expireOptions } from './activity-options.ts';
import type { Activities, ExpireResult } from './contracts.ts';

/** Writes down what has expired, and asks again for promotions that nobody works on. */
export async function expireOutputs(): Promise<ExpireResult> {
  const activities = proxyActivities<Pick<Activities, 'expireOutputs'>>(expireOptions());
  return activities.expireOutputs();
}

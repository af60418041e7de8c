/**
 * One pass of the metering of persistent storage, started by its Schedule every hour (contract §5 "metered daily").
 * Each account and day is charged once, however often this runs.
 */
import { proxyActivities } from '@temporalio/workflow';
import { meterOptions } from './activity-options.ts';
import type { Activities, MeterResult } from './contracts.ts';

/** Meters the days that have ended, and returns outputs that were not paid for to temporary storage. */
export async function meterStorage(): Promise<MeterResult> {
  const activities = proxyActivities<Pick<Activities, 'meterStorage'>>(meterOptions());
  return activities.meterStorage();
}

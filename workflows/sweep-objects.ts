/**
 * One sweep of the object store: every minute, as part of `maintain`, for the bytes of deleted objects, and by its
 * Schedule every hour for objects that nothing names (architecture, "Archiving really copies"). Safe to run twice and
 * at any time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { sweepOptions } from './activity-options.ts';
import type { Activities, SweepInput, SweepResult } from './contracts.ts';

/** Deletes what may be deleted, in as many activities as the size of the store needs. */
export async function sweepObjects(input: SweepInput): Promise<SweepResult> {
  const activities = proxyActivities<Pick<Activities, 'sweepObjects'>>(sweepOptions(input));
  let part = await activities.sweepObjects(input);
  let { deleted } = part;
  while (part.next !== undefined) {
    part = await activities.sweepObjects({ ...input, after: part.next });
    deleted += part.deleted;
  }
  return { deleted };
}

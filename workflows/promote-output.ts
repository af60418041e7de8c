/**
 * Makes one stored output persistent (contract §5), after its owner's request was accepted. The workflow id names the
 * output, so that it is promoted by one run at a time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { promoteOptions } from './activity-options.ts';
import type { Activities, PromoteOutputInput, PromotionResult } from './contracts.ts';

/** Promotes an output. Safe to run twice: an output that is no longer pending is left alone. */
export async function promoteOutput(input: PromoteOutputInput): Promise<PromotionResult> {
  const activities = proxyActivities<Pick<Activities, 'promoteOutput'>>(promoteOptions());
  return activities.promoteOutput(input);
}

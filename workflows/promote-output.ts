/**
 * Making one stored output persistent (contract §5), asked for by its owner and accepted before. The workflow id names the
 * output, so that it is promoted by one run at a time.
 */
import { proxyActivities } from '@temporalio/workflow';
import { PROMOTE_OPTIONS } from './activity-options.ts';
import type { Activities, PromoteOutputInput, PromotionResult } from './contracts.ts';

const activities = proxyActivities<Pick<Activities, 'promoteOutput'>>(PROMOTE_OPTIONS);

/** Promotes an output. Safe to run twice: what is not pending any more is left alone. */
export async function promoteOutput(input: PromoteOutputInput): Promise<PromotionResult> {
  return activities.promoteOutput(input);
}

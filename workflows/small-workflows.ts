/** The workflows that consist of one activity, or of one after the other. */
import { ApplicationFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import {
  CANCEL_ORPHANED_MAX_ATTEMPTS,
  CANCEL_ORPHANED_OPTIONS,
  meterOptions,
  promoteOptions,
  sweepOptions,
} from './activity-options.ts';
import type {
  Activities,
  MeterResult,
  PromoteOutputInput,
  PromotionResult,
  StopGenerationInput,
  SweepInput,
  SweepResult,
} from './contracts.ts';

const { cancelGeneration } = proxyActivities<Pick<Activities, 'cancelGeneration'>>(CANCEL_ORPHANED_OPTIONS);

/**
 * Asks a provider to stop a task that was ended without its workflow: terminated by an operator, or past its deadline
 * without a worker. It only affects what the provider continues to do.
 *
 * @throws {ApplicationFailure} `ProviderNotStopped`: every attempt failed.
 */
export async function stopGeneration(input: StopGenerationInput): Promise<void> {
  try {
    await cancelGeneration({ ...input, tries: CANCEL_ORPHANED_MAX_ATTEMPTS });
  } catch (error) {
    if (isCancellation(error)) throw error;
    throw ApplicationFailure.nonRetryable('cancelling at the provider failed', 'ProviderNotStopped');
  }
}

/**
 * Makes one stored output persistent (contract §5), after its owner's request was accepted. The workflow id names the
 * output, so that it is promoted by one run at a time. Safe to run twice: an output that is no longer pending is left
 * alone.
 */
export async function promoteOutput(input: PromoteOutputInput): Promise<PromotionResult> {
  const activities = proxyActivities<Pick<Activities, 'promoteOutput'>>(promoteOptions());
  return activities.promoteOutput(input);
}

/**
 * One pass of the metering of persistent storage, started by its Schedule every hour (contract §5 "metered daily").
 * Meters the days that have ended, and returns outputs that were not paid for to temporary storage. Each account and
 * day is charged once, however often this runs.
 */
export async function meterStorage(): Promise<MeterResult> {
  const activities = proxyActivities<Pick<Activities, 'meterStorage'>>(meterOptions());
  return activities.meterStorage();
}

/**
 * One sweep of the object store: every minute, as part of `maintain`, for the bytes of deleted objects, and by its
 * Schedule every hour for objects that nothing names (architecture, "Archiving really copies"). It takes as many
 * activities as the size of the store needs. Safe to run twice and at any time.
 */
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

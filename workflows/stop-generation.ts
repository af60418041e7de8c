/**
 * Asks a provider to stop a task that was ended without its workflow: terminated by an operator, or past its deadline
 * without a worker. It only affects what the provider continues to do.
 */
import { ApplicationFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import { CANCEL_ORPHANED_MAX_ATTEMPTS, CANCEL_ORPHANED_OPTIONS } from './activity-options.ts';
import type { Activities, StopGenerationInput } from './contracts.ts';

const { cancelGeneration } = proxyActivities<Pick<Activities, 'cancelGeneration'>>(CANCEL_ORPHANED_OPTIONS);

/** @throws {ApplicationFailure} `ProviderNotStopped`: every attempt failed. */
export async function stopGeneration(input: StopGenerationInput): Promise<void> {
  try {
    await cancelGeneration({ ...input, tries: CANCEL_ORPHANED_MAX_ATTEMPTS });
  } catch (error) {
    if (isCancellation(error)) throw error;
    throw ApplicationFailure.nonRetryable('cancelling at the provider failed', 'ProviderNotStopped');
  }
}

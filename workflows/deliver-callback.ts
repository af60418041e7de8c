/**
 * The delivery of one task's callback (contract §6). The activity's retry policy is the schedule: each failed attempt
 * says itself when the next one is due.
 */
import { ApplicationFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import { CALLBACK_OPTIONS } from './activity-options.ts';
import type { Activities, DeliverCallbackInput, DeliveryResult } from './contracts.ts';

const { sendCallback } = proxyActivities<Pick<Activities, 'sendCallback'>>(CALLBACK_OPTIONS);

/**
 * Delivers a callback.
 *
 * @throws {ApplicationFailure} `CallbackExhausted`: every attempt of the schedule failed. The task is not touched.
 */
export async function deliverCallback(input: DeliverCallbackInput): Promise<DeliveryResult> {
  try {
    return await sendCallback(input);
  } catch (error) {
    if (isCancellation(error)) throw error;
    throw ApplicationFailure.nonRetryable('every attempt failed', 'CallbackExhausted');
  }
}

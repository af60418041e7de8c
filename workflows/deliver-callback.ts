/**
 * Delivers the callback of one task (contract §6). The activity's retry policy is the schedule: each failed attempt
 * states when the next one is due.
 */
import { ApplicationFailure, defineSignal, isCancellation, proxyActivities, setHandler } from '@temporalio/workflow';
import { DELIVER_AGAIN_SIGNAL } from '../src/domain/workflow-ids.ts';
import { CALLBACK_OPTIONS } from './activity-options.ts';
import type { Activities, DeliverCallbackInput, DeliveryResult } from './contracts.ts';

const deliverAgain = defineSignal(DELIVER_AGAIN_SIGNAL);
const { sendCallback } = proxyActivities<Pick<Activities, 'sendCallback'>>(CALLBACK_OPTIONS);

/**
 * Delivers a callback, and delivers it again if a redelivery is requested while this run has not ended, although its
 * outcome is already recorded. The activity reads from the database whether there is anything to send.
 *
 * @throws {ApplicationFailure} `CallbackExhausted`: all attempts of the schedule failed. The task does not change.
 */
export async function deliverCallback(input: DeliverCallbackInput): Promise<DeliveryResult> {
  let isRedeliveryRequested = false;
  setHandler(deliverAgain, () => {
    isRedeliveryRequested = true;
  });
  let outcome = await deliver(input);
  while (isRedeliveryRequested) {
    isRedeliveryRequested = false;
    const again = await deliver(input);
    if (again.state !== 'nothing_to_send') outcome = again;
  }
  if (outcome.state === 'exhausted') {
    throw ApplicationFailure.nonRetryable('every attempt failed', 'CallbackExhausted');
  }
  return outcome;
}

async function deliver(input: DeliverCallbackInput): Promise<DeliveryResult | { readonly state: 'exhausted' }> {
  try {
    return await sendCallback(input);
  } catch (error) {
    if (isCancellation(error)) throw error;
    return { state: 'exhausted' };
  }
}

/**
 * The delivery of one task's callback (contract §6). The activity's retry policy is the schedule: each failed attempt
 * states when the next one is due.
 */
import { ApplicationFailure, defineSignal, isCancellation, proxyActivities, setHandler } from '@temporalio/workflow';
import { DELIVER_AGAIN_SIGNAL } from '../src/domain/workflow-ids.ts';
import { CALLBACK_OPTIONS } from './activity-options.ts';
import type { Activities, DeliverCallbackInput, DeliveryResult } from './contracts.ts';

const deliverAgain = defineSignal(DELIVER_AGAIN_SIGNAL);
const { sendCallback } = proxyActivities<Pick<Activities, 'sendCallback'>>(CALLBACK_OPTIONS);

/**
 * Delivers a callback, and again if that is requested meanwhile: a redelivery may be requested while the previous run,
 * whose outcome is already recorded, has not ended yet. Whether there is anything to send is read from the record.
 *
 * @throws {ApplicationFailure} `CallbackExhausted`: every attempt of the schedule failed. The task is not changed.
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

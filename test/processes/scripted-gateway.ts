/** Temporal as the outbox's deliveries see it, with the answers of a test. */
import assert from 'node:assert/strict';
import type { DeliveryGateway } from '../../src/processes/outbox-delivery.ts';

/** @param script what is not part of it is not expected to be called. */
export function scriptedGateway(script: Partial<DeliveryGateway>): DeliveryGateway {
  return {
    startTask: () => assert.fail('no task is to be started'),
    startCallback: () => assert.fail('no delivery is to be started'),
    deliverAgain: () => assert.fail('no delivery is to be repeated'),
    startStop: () => assert.fail('no provider is to be asked to stop'),
    startPromotion: () => assert.fail('no promotion is to be started'),
    wakeTask: () => assert.fail('no task is to be woken'),
    cancelTask: () => assert.fail('no task is to be cancelled'),
    ...script,
  };
}

/** A task as the statements that accept it take it, without a catalogue. */
import { newTaskId } from '../../src/domain/ids.ts';
import type { NewTask } from '../../src/tasks/create/accept.ts';

/** @param more what differs from a task without a key, a callback and spend caps. */
export function newTask(accountId: string, more: Partial<NewTask> = {}): NewTask {
  return {
    id: newTaskId(),
    accountId,
    keyId: 'none',
    idempotencyKey: undefined,
    fingerprint: { hash: Buffer.alloc(32), version: 1 },
    model: 'acme/images',
    route: undefined,
    definitionHash: 'none',
    inputJson: '{}',
    metadata: undefined,
    storage: 'temp',
    timeoutSeconds: undefined,
    queuedSeconds: 60,
    callbackUrl: undefined,
    holdMicroUsd: 1n,
    priceFactor: undefined,
    batchId: undefined,
    inputObjects: [],
    spendCapIds: [],
    waiter: undefined,
    ...more,
  };
}

/** A task as the api accepts it, for benches that call the database's side of the program directly. */
import { randomBytes } from 'node:crypto';
import { newTaskId } from '../../src/domain/ids.ts';
import type { NewTask } from '../../src/tasks/create/accept.ts';

export function newTask(accountId: string): NewTask {
  return {
    id: newTaskId(),
    accountId,
    keyId: 'bench',
    idempotencyKey: undefined,
    fingerprint: { hash: randomBytes(32), version: 1 },
    model: 'bench/swatch',
    route: undefined,
    definitionHash: 'bench',
    inputJson: '{"prompt":"grey"}',
    metadata: undefined,
    storage: 'temp',
    timeoutSeconds: undefined,
    queuedSeconds: 86_400,
    callbackUrl: undefined,
    holdMicroUsd: 10_000n,
    priceFactor: undefined,
    batchId: undefined,
    inputObjects: [],
    spendCapIds: [],
    waiter: undefined,
  };
}

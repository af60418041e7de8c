/**
 * The work on a batch (src/batches/), from its validation to its files. All of its state is in the database: this only
 * repeats the activity that does the next seconds of work, in a history that stays short.
 */
import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import { batchOptions } from './activity-options.ts';
import type { ApiActivities, BatchInput } from './contracts.ts';

/** Steps in one history. */
const STEPS = 100;

/** Works on a batch until it has ended. */
export async function runBatch(input: BatchInput): Promise<void> {
  const { advanceBatch } = proxyActivities<ApiActivities>(batchOptions());
  for (let step = 0; step < STEPS; step++) {
    const { isEnded } = await advanceBatch(input);
    if (isEnded) return;
  }
  await continueAsNew<typeof runBatch>(input);
}

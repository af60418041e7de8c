/**
 * Submits to an upstream with a concurrency limit: if it is reached, the task joins the upstream's queue
 * (src/upstreams/queue.ts) and the workflow waits for the signal that it has a slot. This wait takes no slot in a
 * worker and no query to the database, however many tasks wait and for however long.
 */
import { condition, defineSignal, patched, setHandler } from '@temporalio/workflow';
import { SLOT_SIGNAL } from '../src/domain/workflow-ids.ts';
import type { Activities, MediaTaskInput, SubmitResult } from './contracts.ts';

const slotGranted = defineSignal(SLOT_SIGNAL);

/** Since the release after 0.1.0: before, the activity was retried until there was a slot. */
const QUEUE_PATCH = 'waits-in-the-queue-of-an-upstream';

/** Prevents a loop without a pause. */
const MIN_WAIT_MS = 100;

/** @throws what the activity throws; `CancelledFailure` also while it waits. */
export async function submitInTurn(
  input: MediaTaskInput,
  submitGeneration: Activities['submitGeneration'],
): Promise<SubmitResult> {
  if (input.isCapped !== true || !patched(QUEUE_PATCH)) return submitGeneration(input);
  let hasSlot = false;
  setHandler(slotGranted, () => {
    hasSlot = true;
  });
  for (;;) {
    hasSlot = false;
    const submitted = await submitGeneration({ ...input, mayWait: true });
    if (submitted.kind !== 'waiting') return submitted;
    // A signal that arrived before the activity's result counts as well. Without one: the deadline, or a slot that the
    // database has lost.
    await condition(() => hasSlot, Math.max(submitted.waitMs ?? 0, MIN_WAIT_MS));
  }
}

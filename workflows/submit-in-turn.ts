/**
 * Submits a task. If its upstream is at its concurrency limit, the task joins the upstream's queue
 * (src/upstreams/slots.ts) and the workflow waits for the signal that it has a slot. The wait occupies no slot of a
 * worker and needs no database query, regardless of how many tasks wait and for how long.
 */
import { condition, defineSignal, setHandler } from '@temporalio/workflow';
import { SLOT_SIGNAL } from '../src/domain/workflow-ids.ts';
import type { Activities, MediaTaskInput, SubmitResult } from './contracts.ts';

const slotGranted = defineSignal(SLOT_SIGNAL);

/** The minimum wait in milliseconds, so that the loop always pauses. */
const MIN_WAIT_MS = 100;

/**
 * @throws the failure of the activity; `CancelledFailure` if the workflow is cancelled during the activity or the wait.
 */
export async function submitInTurn(
  input: MediaTaskInput,
  submitGeneration: Activities['submitGeneration'],
): Promise<SubmitResult> {
  let hasSlot = false;
  setHandler(slotGranted, () => {
    hasSlot = true;
  });
  for (;;) {
    hasSlot = false;
    const submitted = await submitGeneration(input);
    if (submitted.kind !== 'waiting') return submitted;
    // A signal that arrived before the activity's result counts too. The wait also ends without a signal, because the
    // deadline may have passed or the database may have lost the slot.
    await condition(() => hasSlot, Math.max(submitted.waitMs ?? 0, MIN_WAIT_MS));
  }
}

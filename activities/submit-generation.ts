/** Submits a task to a provider, once (src/generation/submit.ts). */
import { submitGeneration } from '../src/generation/submit.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { currentAttempt } from './heartbeat.ts';

export function createSubmitGeneration(context: ActivityContext): Activities['submitGeneration'] {
  return (input) => submitGeneration(context, currentAttempt(context), input);
}

/** Waits for a provider's job (src/generation/wait.ts). */
import { awaitGeneration } from '../src/generation/wait.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { currentAttempt } from './heartbeat.ts';

export function createAwaitGeneration(context: ActivityContext): Activities['awaitGeneration'] {
  return (input) => awaitGeneration(context, currentAttempt(context), input);
}

/** Copies the generated files into the object store (src/generation/archive.ts). */
import { archiveOutputs } from '../src/generation/archive.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { currentAttempt } from './heartbeat.ts';

export function createArchiveOutputs(context: ActivityContext): Activities['archiveOutputs'] {
  return (input) => archiveOutputs(context, currentAttempt(context), input);
}

/** Copies the generated files into the object store (src/generation/archive.ts), and settles the task. */
import { archiveOutputs } from '../src/generation/archive.ts';
import type { Activities, MediaTaskInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { currentAttempt } from './heartbeat.ts';
import { settleAtOnce } from './settle-task.ts';

export function createArchiveOutputs(context: ActivityContext): Activities['archiveOutputs'] {
  return (input: MediaTaskInput) =>
    archiveOutputs(context, currentAttempt(context), input, (task, outputs) =>
      settleAtOnce(context, { ...input, status: 'success', outputs }, task),
    );
}

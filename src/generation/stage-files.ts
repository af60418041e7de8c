/**
 * Stores what a provider delivered: bytes in the object store, URLs in the record. Keys contain the attempt, so
 * that two attempts never write to the same key; objects that no settlement names are swept later.
 */
import { createReadStream } from 'node:fs';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { ProducedFile } from '../providers/provider.ts';
import { persistWithRetry } from '../tasks/lifecycle/persist-with-retry.ts';
import type { GeneratedFile } from '../tasks/lifecycle/generations.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';

/**
 * A key that no other attempt uses. It contains the whole id of the run: ids of runs begin with the time, so that the
 * first eight digits are the same for all runs that start within a minute. The directories are few and shared (the
 * last two characters of the id spread evenly): a separate directory for each task would have to be created and synced
 * each time.
 */
export function attemptKey(
  { runId = 'run', stepId, number }: Pick<Attempt, 'runId' | 'stepId' | 'number'>,
  taskId: TaskId,
  stage: 'generated' | 'archived',
  position: number,
): string {
  return `outputs/${taskId.slice(-2)}/${taskId}-${stage}-${runId}-${stepId}-${number}-${position}`;
}

/** The most files of one task: ten times what any model makes, and still archived in time. */
const MAX_FILES = 100;

/** Stages files in order. Those above the limit are dropped: the others are paid for. */
export async function stageFiles(
  context: GenerationContext,
  attempt: Attempt,
  taskId: TaskId,
  files: readonly ProducedFile[],
  signal: AbortSignal,
): Promise<readonly GeneratedFile[]> {
  if (files.length > MAX_FILES) {
    context.logger.warn(
      { taskId, files: files.length, limit: MAX_FILES },
      'provider listed more files than a task can have; the rest is dropped',
    );
  }
  const staged: GeneratedFile[] = [];
  for (const [position, file] of files.slice(0, MAX_FILES).entries()) {
    if (file.from === 'url') {
      staged.push({ url: file.url });
      continue;
    }
    const key = attemptKey(attempt, taskId, 'generated', position);
    const put = await persistWithRetry(signal, () => {
      const body = file.from === 'bytes' ? file.bytes : createReadStream(file.path);
      return context.store.put(key, body, { mimeType: 'application/octet-stream', signal });
    });
    staged.push({ key, sizeBytes: put.sizeBytes, sha256: put.sha256 });
  }
  return staged;
}

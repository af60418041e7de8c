/**
 * What happens when a task has ended: its outputs are saved or printed, and a failure becomes the command's failure.
 * `run` and `watch` end with it.
 */
import { saveOutputs } from './download.ts';
import type { SavedFile } from './download.ts';
import { NotDoneError } from './errors.ts';
import type { Progress } from './progress.ts';
import type { Session } from './session.ts';
import { failureOf } from './task-text.ts';
import type { WireTask } from '@darkroom/api/tasks/task';

/**
 * Saves the outputs of a task that has succeeded.
 *
 * @param directory undefined: nothing is saved.
 */
export async function outcomeOf(
  { api, cli }: Session,
  task: WireTask,
  directory: string | undefined,
  progress: Progress,
): Promise<readonly SavedFile[]> {
  if (directory === undefined || task.status !== 'success') return [];
  return saveOutputs(api, task, { directory, signal: cli.interrupt, onBytes: progress.onBytes });
}

/** Prints where the outputs are now, one per line. */
export function printOutcome({ terminal }: Session, task: WireTask, files: readonly SavedFile[]): void {
  for (const { path } of files) terminal.print(path);
  if (files.length > 0) return;
  for (const { url } of task.output ?? []) terminal.print(url);
}

/** @throws {NotDoneError} the task has failed. */
export function requireSuccess(task: WireTask): void {
  if (task.status !== 'success') throw new NotDoneError(`${task.taskId}: ${failureOf(task)}`);
}

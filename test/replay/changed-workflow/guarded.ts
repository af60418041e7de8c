/** `mediaTask` with the same change as in unguarded.ts, guarded by `patched`: tasks that began before it go on without. */
import { patched, sleep } from '@temporalio/workflow';
import type { MediaTaskInput, SettleResult } from '../../../workflows/contracts.ts';
import { mediaTask as unchanged } from '../../../workflows/media-task.ts';

export async function mediaTask(input: MediaTaskInput): Promise<SettleResult> {
  if (patched('sleeps-before-it-begins')) await sleep(1);
  return unchanged(input);
}

/** `mediaTask` as a careless change would leave it: with another first step. Tasks that began before it cannot go on. */
import { sleep } from '@temporalio/workflow';
import type { MediaTaskInput, SettleResult } from '../../../workflows/contracts.ts';
import { mediaTask as unchanged } from '../../../workflows/media-task.ts';

export async function mediaTask(input: MediaTaskInput): Promise<SettleResult> {
  await sleep(1);
  return unchanged(input);
}

/**
 * A text call that no connection waits for (src/text/background/). All of its state is in the database: this only
 * repeats the activity that answers it, until one attempt has ended it.
 */
import { proxyActivities } from '@temporalio/workflow';
import { backgroundOptions } from './activity-options.ts';
import type { ApiActivities, BackgroundCallInput } from './contracts.ts';

/** Answers a call. */
export async function runBackgroundCall(input: BackgroundCallInput): Promise<void> {
  const { answerInBackground } = proxyActivities<ApiActivities>(backgroundOptions());
  await answerInBackground(input);
}

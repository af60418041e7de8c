/** The yardstick: the minimum of a task in Temporal, one workflow with one activity. */
import { proxyActivities } from '@temporalio/workflow';

const { echo } = proxyActivities<{ echo(text: string): Promise<string> }>({ startToCloseTimeout: '1 minute' });

export async function oneActivity(text: string): Promise<string> {
  return echo(text);
}

/**
 * `mediaTask` as a careless change would leave it: the outputs are archived twice, and the status is shown after the
 * submit instead of before. Only for showing that replaying detects such a change.
 */
import { proxyActivities, proxyLocalActivities, upsertSearchAttributes } from '@temporalio/workflow';
import { SETTLE_LOCALLY, archiveOptions, submitOptions } from '../../../workflows/activity-options.ts';
import type { Activities, MediaTaskInput, SettleResult } from '../../../workflows/contracts.ts';

const { settleTask } = proxyLocalActivities<Pick<Activities, 'settleTask'>>(SETTLE_LOCALLY);

export async function mediaTask(input: MediaTaskInput): Promise<SettleResult> {
  const { submitGeneration } = proxyActivities<Pick<Activities, 'submitGeneration'>>(submitOptions(input));
  const { archiveOutputs } = proxyActivities<Pick<Activities, 'archiveOutputs'>>(archiveOptions(input));

  await submitGeneration(input);
  upsertSearchAttributes({ TaskStatus: ['handling'] });
  await archiveOutputs(input);
  const archived = await archiveOutputs(input);
  const outputs = archived.kind === 'archived' ? archived.outputs : [];
  return settleTask({ taskId: input.taskId, status: 'success', outputs });
}

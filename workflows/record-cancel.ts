/**
 * Makes a cancel from Temporal's own tools known to the worker that waits for a job. That worker sends few heartbeats,
 * and learns of a cancel from the task's row (docs/decisions/0024), where only the API has recorded its own.
 */
import { CancellationScope, log, patched, proxyLocalActivities } from '@temporalio/workflow';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import { RECORD_CANCEL_LOCALLY } from './activity-options.ts';
import type { Activities } from './contracts.ts';

const { recordCancel } = proxyLocalActivities<Pick<Activities, 'recordCancel'>>(RECORD_CANCEL_LOCALLY);

/** Workflows that were cancelled under an earlier release have recorded nothing. */
const RECORDS_CANCEL = 'records-a-cancel';

/** Records a cancel of the workflow as long as it waits. Best effort: the next heartbeat reports a cancel too. */
export async function recordingCancel<T>(taskId: TaskId, wait: () => Promise<T>): Promise<T> {
  const scope = CancellationScope.current();
  let isWaiting = !scope.consideredCancelled;
  const onCancel = async (): Promise<void> => {
    if (!isWaiting || !patched(RECORDS_CANCEL)) return;
    try {
      await CancellationScope.nonCancellable(() => recordCancel({ taskId }));
    } catch {
      log.warn('cancel not recorded', { taskId });
    }
  };
  scope.cancelRequested.catch(onCancel);
  try {
    return await wait();
  } finally {
    isWaiting = false;
  }
}

/** Which worker is processing a task, according to Temporal. */
import type { Activities } from '../../workflows/contracts.ts';
import { answerOf } from './busy-server.ts';
import type { Darkroom, Role } from './darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/**
 * Waits until a worker runs a given activity of a task that is being handled. The activity is a parameter, because
 * each may run on a different worker: a task whose submit is about to end here is awaited elsewhere a moment later.
 *
 * @returns whether it is this worker, which must be running.
 */
export async function isWorkedOnBy(
  worker: Role,
  darkroom: Darkroom,
  taskId: string,
  activity: keyof Activities,
): Promise<boolean> {
  let identity = '';
  await waitFor(`a worker has ${activity} of ${taskId} in hand`, async () => {
    const { raw } = await answerOf(() => darkroom.temporal.workflow.getHandle(taskId).describe());
    const pending = raw.pendingActivities?.find(({ activityType }) => activityType?.name === activity);
    identity = pending?.lastWorkerIdentity ?? '';
    return identity !== '';
  });
  return identity.startsWith(`${worker.pid}@`);
}

/** Which worker works on a task, as Temporal tells it. */
import type { Activities } from '../../workflows/contracts.ts';
import type { Darkroom, Role } from './darkroom.ts';
import { until } from './until.ts';

/**
 * Waits until a worker has an activity of a task that is handled in hand. Which activity is asked for, because each may be another
 * worker's: a task whose submit is about to end here is waited for elsewhere a moment later.
 *
 * @returns whether it is this worker, which runs.
 */
export async function isWorkedOnBy(
  worker: Role,
  darkroom: Darkroom,
  taskId: string,
  activity: keyof Activities,
): Promise<boolean> {
  let identity = '';
  await until(`a worker has ${activity} of ${taskId} in hand`, async () => {
    const { raw } = await darkroom.temporal.workflow.getHandle(taskId).describe();
    identity =
      raw.pendingActivities?.find(({ activityType }) => activityType?.name === activity)?.lastWorkerIdentity ?? '';
    return identity !== '';
  });
  return identity.startsWith(`${worker.pid}@`);
}

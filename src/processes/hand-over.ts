/** Hands over the waits for providers' jobs that a dead worker had in hand: their attempts are failed in Temporal. */
import type { Queryable } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { listWaitingTasks } from '../tasks/record/waiting-tasks.ts';
import type { WorkflowGateway } from '../temporal/workflow-gateway.ts';

/** The maximum number of concurrent requests to Temporal. */
const AT_ONCE = 10;

/**
 * Only waits: the job is at its provider, and waiting for it twice does no harm. A submit that may have been paid for is
 * left to its heartbeat time-out, because a worker that only lost the database still gets the answer.
 *
 * @param identity of the worker.
 * @throws what Temporal or the database throws; what was not handed over is started again after its heartbeat time-out.
 */
export async function handOverWaits(
  database: Queryable,
  gateway: Pick<WorkflowGateway, 'failAttempts'>,
  identity: string,
): Promise<void> {
  for await (const page of listWaitingTasks(database)) {
    const left: TaskId[] = [...page];
    const work = async (): Promise<void> => {
      for (let taskId = left.pop(); taskId !== undefined; taskId = left.pop()) {
        await gateway.failAttempts(taskId, 'awaitGeneration', identity);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
}

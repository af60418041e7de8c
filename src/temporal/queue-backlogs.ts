/**
 * How much work waits in our task queues, and for how long, as Temporal knows it: what has been scheduled and no worker
 * has taken. Tasks that wait for their account's limit or for an upstream with a cap are in no queue.
 */
import type { NativeConnection } from '@temporalio/worker';
import { TASK_QUEUES, taskQueueOf } from '../domain/workflow-ids.ts';
import type { QueueName } from '../domain/workflow-ids.ts';
import type { QueueBacklogs } from '../telemetry/metrics-service.ts';

/** The time limit of all questions together, in milliseconds: shorter than a scrape waits. */
const ANSWER_WITHIN_MS = 2_000;

/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY`. A queue of activities has no workflow tasks: 0. */
const TYPES = [1, 2];

/** Asks for all queues of an installation. @throws {ServiceError} the server did not answer in time. */
export async function readQueueBacklogs(
  connection: Pick<NativeConnection, 'workflowService' | 'withDeadline'>,
  namespace: string,
  installationId: string,
): Promise<QueueBacklogs> {
  const backlogOf = async (queue: QueueName): Promise<readonly [QueueName, QueueBacklogs[QueueName]]> => {
    const name = taskQueueOf(queue, installationId);
    const answers = await Promise.all(
      TYPES.map((taskQueueType) =>
        connection.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name },
          taskQueueType,
          reportStats: true,
        }),
      ),
    );
    return [
      queue,
      {
        count: answers.reduce((sum, { stats }) => sum + Number(stats?.approximateBacklogCount ?? 0), 0),
        oldestSeconds: Math.max(...answers.map(({ stats }) => secondsOf(stats?.approximateBacklogAge))),
      },
    ];
  };
  const names = Object.keys(TASK_QUEUES) as QueueName[];
  const backlogs = await connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
    Promise.all(names.map(backlogOf)),
  );
  return Object.fromEntries(backlogs) as QueueBacklogs;
}

/** An empty queue has an age of 0, or none. */
function secondsOf(age: { seconds?: unknown; nanos?: number | null } | null | undefined): number {
  if (age === null || age === undefined) return 0;
  return Math.max(0, Number(age.seconds ?? 0) + (age.nanos ?? 0) / 1e9);
}

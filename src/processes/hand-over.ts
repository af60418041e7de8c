/**
 * Hands over the waits for providers' jobs that a dead worker had in hand, or that never reached a living one: their
 * attempts are failed in Temporal.
 */
import type { Queryable } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { BEGINS_WITHIN_MS, listUnattendedWaits, listWaitingTasks, listWorkers } from '../tasks/record/waiting-tasks.ts';
import type { Logger } from '../telemetry/log.ts';
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
        await gateway.failAttempts(taskId, 'awaitGeneration', (attempt) => attempt.identity === identity);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
}

/**
 * Hands back waits that Temporal has given to a worker which never got them: its answer to a poll is lost if the
 * connection ends at that moment, or the worker stops. The worker lives and would be given the whole heartbeat time-out.
 *
 * @param identity of this process.
 * @throws what Temporal or the database throws; the next call looks again.
 */
export async function handBackLostWaits({
  database,
  gateway,
  identity,
  logger,
  now = Date.now,
}: {
  readonly database: Queryable;
  readonly gateway: Pick<WorkflowGateway, 'failAttempts'>;
  readonly identity: string;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}): Promise<void> {
  const unattended = await listUnattendedWaits(database, identity);
  if (unattended.length === 0) return;
  const workers = await listWorkers(database);
  for (const taskId of unattended) {
    const lost = await gateway.failAttempts(
      taskId,
      'awaitGeneration',
      (attempt) => workers.has(attempt.identity) && now() - attempt.startedAt >= BEGINS_WITHIN_MS,
    );
    if (lost > 0) logger.warn({ taskId }, 'a worker never got the wait that Temporal gave it; handing it back');
  }
}

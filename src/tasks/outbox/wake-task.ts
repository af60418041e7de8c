/**
 * Wakes tasks that have got a slot at a capped upstream (docs/decisions/0016). The outbox row is written in the
 * transaction that gives the slot, claimed for this process, which delivers it after the commit: until a launcher has
 * polled for it, the slot would be empty, for a tenth of the time of a short job. If the process dies or Temporal does
 * not answer, the row is due again like any other.
 */
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Logger } from '../../telemetry/log.ts';
import { OUTBOX_LEASE_SECONDS, releaseOutboxLease, removeOutbox, requestWork } from './outbox.ts';

/** With this many deliveries in progress, a process leaves further ones to the launchers. */
const MAX_IN_FLIGHT = 16;

/** A row that exists is not claimed: a launcher may be delivering it, and removes it afterwards if it is. */
const insertClaimed: Statement = {
  name: 'insert_claimed_wake',
  text: `INSERT INTO outbox (kind, account_id, subject_id, is_ready, due_at, deliveries)
         VALUES ('wake_task', $1, $2, true, now() + make_interval(secs => ${OUTBOX_LEASE_SECONDS}), 1)
         ON CONFLICT (kind, subject_id) DO UPDATE SET due_at = now(), deliveries = 0
         RETURNING id, deliveries`,
};

export interface TaskWaker {
  /** Requests a wake in a transaction. @returns what delivers it once that is committed, if this process does. */
  wake(
    transaction: Queryable,
    task: { readonly taskId: TaskId; readonly accountId: string },
  ): Promise<(() => void) | undefined>;
  /** Waits for the deliveries in progress. */
  close(): Promise<void>;
}

/** @param options.deliver signals the workflow of the task. */
export function createTaskWaker({
  database,
  deliver,
  logger,
}: {
  readonly database: Database;
  readonly deliver: (taskId: TaskId) => Promise<void>;
  readonly logger: Logger;
}): TaskWaker {
  const inFlight = new Set<Promise<void>>();

  const deliverClaimed = async (id: bigint, taskId: TaskId): Promise<void> => {
    try {
      await deliver(taskId);
      await removeOutbox(database, [id]);
    } catch (err) {
      logger.warn({ err, taskId }, 'waking a task failed; a launcher will');
      await releaseOutboxLease(database, [id]).catch(() => undefined);
    }
  };

  return {
    async wake(transaction, { taskId, accountId }) {
      if (inFlight.size >= MAX_IN_FLIGHT) {
        await requestWork(transaction, 'wake_task', accountId, taskId);
        return undefined;
      }
      const [row] = await transaction.query<{ id: bigint; deliveries: number }>(insertClaimed, [accountId, taskId]);
      if (row === undefined || row.deliveries === 0) return undefined;
      return () => {
        const delivering = deliverClaimed(row.id, taskId).finally(() => inFlight.delete(delivering));
        inFlight.add(delivering);
      };
    },
    async close() {
      await Promise.all(inFlight);
    },
  };
}

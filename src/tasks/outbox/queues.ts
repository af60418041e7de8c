/**
 * How full the queues are, for operators: tasks queued and running per account, and outbox rows pending for Temporal.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { MAX_LISTED_ACCOUNTS } from '@darkroom/api/facts/limits';

export interface AccountQueue {
  readonly accountId: string;
  readonly name: string;
  readonly isSuspended: boolean;
  readonly queued: number;
  readonly queueCap: number;
  readonly running: number;
  readonly runningCap: number;
  /** How long the first queued task has been waiting; null where none waits. */
  readonly oldestQueuedSeconds: number | null;
}

export interface OutboxQueue {
  readonly kind: string;
  /** Rows that are to be delivered, whether they are due or leased. */
  readonly waiting: number;
  readonly due: number;
  /** For how long the oldest of them has been due; null where none is. */
  readonly oldestDueSeconds: number | null;
}

export interface Queues {
  /** Accounts with something queued or running, the longest queues first. */
  readonly accounts: readonly AccountQueue[];
  readonly outbox: readonly OutboxQueue[];
}

const selectAccountQueues: Statement = {
  name: 'select_account_queues',
  text: `SELECT c.account_id AS "accountId", a.name, c.is_suspended AS "isSuspended", c.queued, c.queue_cap AS "queueCap",
                c.running, c.running_cap AS "runningCap",
                greatest(extract(epoch FROM $1::timestamptz - o.created_at), 0)::float8 AS "oldestQueuedSeconds"
           FROM account_counters c
           JOIN accounts a ON a.id = c.account_id
           LEFT JOIN LATERAL (
                SELECT created_at FROM outbox WHERE account_id = c.account_id AND NOT is_ready ORDER BY id LIMIT 1) o
             ON true
          WHERE c.queued > 0 OR c.running > 0
          ORDER BY c.queued DESC, c.running DESC, c.account_id LIMIT ${MAX_LISTED_ACCOUNTS}`,
};

const selectOutboxQueues: Statement = {
  name: 'select_outbox_queues',
  text: `SELECT kind, count(*)::integer AS waiting, count(*) FILTER (WHERE due_at <= $1)::integer AS due,
                extract(epoch FROM $1::timestamptz - min(due_at) FILTER (WHERE due_at <= $1))::float8 AS "oldestDueSeconds"
           FROM outbox WHERE is_ready GROUP BY kind ORDER BY kind`,
};

/** @param now milliseconds since 1970. */
export async function readQueues(database: Queryable, now: number): Promise<Queues> {
  const at = [new Date(now)];
  const [accounts, outbox] = await Promise.all([
    database.query<AccountQueue>(selectAccountQueues, at),
    database.query<OutboxQueue>(selectOutboxQueues, at),
  ]);
  return { accounts, outbox };
}

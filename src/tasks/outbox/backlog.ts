/**
 * What waits in the whole installation, for its metrics and for operators: open tasks with what they hold, outbox rows
 * pending for Temporal, queued tasks by account, and callbacks that are not delivered. Each statement reads only open
 * rows, by a partial index: its cost grows with the backlog and not with the history.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { Backlog } from '../../telemetry/metrics-service.ts';
import { outboxWaitSeconds } from './outbox.ts';
import { MAX_LISTED_ACCOUNTS } from '@darkroom/api/facts/limits';

/** `oldestSeconds`: for how long the oldest one has been in this status. */
export interface OpenTasks extends Backlog {
  readonly status: 'queued' | 'handling' | 'archiving';
  readonly heldMicroUsd: number;
  /** For how long the oldest hold has been open. */
  readonly oldestHoldSeconds: number;
}

const selectOpenTasks: Statement = {
  name: 'select_open_tasks_by_status',
  text: `SELECT status, count(*)::integer AS count, sum(held_micro_usd)::float8 AS "heldMicroUsd",
                greatest(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestHoldSeconds",
                greatest(extract(epoch FROM now() - min(CASE status WHEN 'queued' THEN created_at
                                                                    WHEN 'handling' THEN started_at
                                                                    ELSE updated_at END)), 0)::float8 AS "oldestSeconds"
           FROM tasks WHERE completed_at IS NULL GROUP BY status`,
};

/** Tasks that have not ended, by status; a status without tasks is absent. */
export async function readOpenTasks(database: Queryable): Promise<readonly OpenTasks[]> {
  return database.query<OpenTasks>(selectOpenTasks);
}

/** Within a kind, rows that were claimed equally often come due in the order in which they were written. */
const selectOutbox: Statement = {
  name: 'select_outbox_backlog',
  text: `SELECT kind, deliveries, count(*)::integer AS count, extract(epoch FROM now() - min(due_at))::float8 AS "dueSeconds"
           FROM outbox WHERE is_ready GROUP BY kind, deliveries`,
};

/** Rows that a launcher has made ready, or that always are: the others are queued tasks. */
export async function readOutboxBacklog(database: Queryable): Promise<ReadonlyMap<string, Backlog>> {
  const rows = await database.query<{ kind: string; deliveries: number; count: number; dueSeconds: number }>(
    selectOutbox,
  );
  const backlog = new Map<string, Backlog>();
  for (const { kind, deliveries, count, dueSeconds } of rows) {
    const others = backlog.get(kind);
    const oldestSeconds = Math.max(outboxWaitSeconds(deliveries, dueSeconds), others?.oldestSeconds ?? 0);
    backlog.set(kind, { count: count + (others?.count ?? 0), oldestSeconds });
  }
  return backlog;
}

/** A callback that is being attempted has no next attempt: it has been due since its last one began. */
const selectCallbacks: Statement = {
  name: 'select_callback_backlog',
  text: `SELECT count(*)::integer AS count,
                greatest(extract(epoch FROM now() - min(coalesce(
                  c.next_attempt_at,
                  (SELECT max(a.started_at) FROM callback_attempts a WHERE a.task_id = c.task_id)))), 0)::float8
                  AS "oldestSeconds"
           FROM callbacks c WHERE c.state = 'pending'`,
};

/** Callbacks that are neither delivered nor given up, and for how long the longest overdue has been due. */
export async function readCallbackBacklog(database: Queryable): Promise<Backlog> {
  const [row] = await database.query<{ count: number; oldestSeconds: number | null }>(selectCallbacks);
  return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
}

interface AccountQueue {
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

interface OutboxQueue {
  readonly kind: string;
  /** Rows that are to be delivered, whether they are due or leased. */
  readonly waiting: number;
  readonly due: number;
  /** For how long the oldest of them has been due; null where none is. */
  readonly oldestDueSeconds: number | null;
}

interface Queues {
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

/**
 * How full the queues are, for operators: tasks queued and running per account, and outbox rows pending for Temporal.
 *
 * @param now milliseconds since 1970.
 */
export async function readQueues(database: Queryable, now: number): Promise<Queues> {
  const at = [new Date(now)];
  const [accounts, outbox] = await Promise.all([
    database.query<AccountQueue>(selectAccountQueues, at),
    database.query<OutboxQueue>(selectOutboxQueues, at),
  ]);
  return { accounts, outbox };
}

export interface UnclaimedStarts {
  read(database: Queryable): Promise<Backlog>;
}

/**
 * The maximum number of accounts whose next start is tracked, always the same ones. They suffice to measure the age of
 * the queue at a bounded cost.
 */
const FOLLOWED_ACCOUNTS = 1_000;

/** By the partial indexes of the claim: `account_counters_launchable`, `outbox_waiting`. */
const selectUnclaimed: Statement = {
  name: 'select_unclaimed_starts',
  text: `WITH launchable AS MATERIALIZED (
           SELECT account_id, least(queued, running_cap - running) AS starts FROM account_counters WHERE is_launchable)
         SELECT next.id, (SELECT sum(starts) FROM launchable)::integer AS count
           FROM (SELECT account_id FROM launchable ORDER BY account_id LIMIT ${FOLLOWED_ACCOUNTS}) followed
          CROSS JOIN LATERAL (
                SELECT id FROM outbox WHERE account_id = followed.account_id AND NOT is_ready ORDER BY id LIMIT 1) next`,
};

/**
 * Queued tasks whose account has a free slot, and which no launcher claims: a launcher claims and so makes ready what
 * it can deliver (docs/decisions/0011), and where Temporal was never reached there is none. Tasks of accounts at
 * their cap only wait.
 *
 * Since when the slot has been free is not stored, and a busy account has a free one for a moment after each of its
 * tasks. So the age is how long the same start has been found to be next, from one read to the next.
 *
 * @param now milliseconds of a monotonic clock.
 */
export function createUnclaimedStarts(now: () => number = () => performance.now()): UnclaimedStarts {
  let seenSince: ReadonlyMap<bigint, number> = new Map();
  return {
    async read(database) {
      const rows = await database.query<{ id: bigint; count: number }>(selectUnclaimed);
      const at = now();
      seenSince = new Map(rows.map(({ id }) => [id, seenSince.get(id) ?? at]));
      const oldest = Math.min(at, ...seenSince.values());
      return { count: rows[0]?.count ?? 0, oldestSeconds: (at - oldest) / 1000 };
    },
  };
}
